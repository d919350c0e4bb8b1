import json

import pytest

from agents.llm.error_mapping import error_for_response, error_for_stream_object
from agents.llm.errors import OptionRefused, UnknownModel

OPTIONS = {"stream_options": ("stream_options",), "max_tokens": ("max_completion_tokens",)}


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        *((301, "redirected", False), (308, "redirected", False), (400, "bad_request", False)),
        *((401, "auth", False), (402, "quota", False), (403, "auth", False)),
        *((404, "not_found", False), (405, "not_found", False), (408, "timeout", True)),
        *((409, "bad_request", False), (413, "context_length", False), (422, "bad_request", False)),
        *((429, "rate_limited", True), (500, "overloaded", True), (501, "not_found", False)),
        *((502, "overloaded", True), (503, "overloaded", True), (529, "overloaded", True)),
    ],
)
def test_a_status_tells_the_error(status: int, code: str, retryable: bool) -> None:
    for body in (b"", b"\xff", b"[]", b"5", b'{"error": null}', b'{"error": 5}', b"[" * 100_000):
        error = error_for_response(status, body)
        assert (error.code, error.retryable) == (code, retryable)


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (400, "This model's maximum context length is 8192 tokens", "context_length"),
        (400, "the request exceeds the available context size", "context_length"),
        (429, "You exceeded your current quota", "quota"),
        (429, "maximum context", "rate_limited"),
        (404, "No endpoints found that support tool use", "tools_unsupported"),
        (400, "llama2 does not support tools", "tools_unsupported"),
        (400, "API key not valid. Please pass a valid API key.", "auth"),
        (500, "maximum context", "overloaded"),
        (400, "acme/gpt-9 is not a valid model ID", "not_found"),
        (400, "Model Not Exist", "not_found"),
        (400, "Invalid model: mistral-huge", "not_found"),
        (400, "Invalid model name passed in model=gpt-9. Call /v1/models", "not_found"),
        (400, "The model `qwen2.5-coder:7b` does not exist.", "not_found"),
        (422, 'model "reasoning-1.5" not found, try pulling it first', "not_found"),
        (400, "The model's tool call id call_1 was not found in the messages", "bad_request"),
        (400, "Unknown model parameter: top_q", "bad_request"),
        (400, "A schema for function x in this model is invalid", "bad_request"),
    ],
)
def test_words_tell_more_where_a_status_is_used_for_many_things(
    status: int, message: str, code: str
) -> None:
    for body in (
        {"error": {"message": message}},
        [{"error": {"message": message}}],
        {"error": message},
    ):
        assert error_for_response(status, json.dumps(body).encode()).code == code


@pytest.mark.parametrize(
    "body",
    [{"message": "x", "code": "context_length_exceeded"}, {"type": "context_length_exceeded"}],
)
def test_codes_and_types_are_looked_at(body: dict[str, str]) -> None:
    assert error_for_response(400, json.dumps({"error": body}).encode()).code == "context_length"


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_model_that_does_not_exist_is_told_from_a_wrong_address(status: int) -> None:
    body = {"error": {"message": "Model Not Exist", "type": "invalid_request_error"}}
    assert isinstance(
        error_for_response(status, json.dumps(body).encode(), None, OPTIONS), UnknownModel
    )
    assert isinstance(error_for_stream_object(body["error"]), UnknownModel)
    assert not isinstance(error_for_response(404, b"404 page not found"), UnknownModel)


def test_an_option_that_is_part_of_a_model_s_name_is_not_left_out() -> None:
    body = b'{"error": {"message": "The model `stream_options-7b` does not exist"}}'
    assert isinstance(error_for_response(400, body, None, OPTIONS), UnknownModel)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"error": {"message": "No", "code": 7, "param": "tools"}}, "No 7 tools"),
        ({"error": "No"}, "No"),
        ([{"error": {"message": "No"}}], "No"),
        ({"detail": "No"}, "No"),
        ({"detail": [{"input": "all that was asked"}]}, ""),
        ({"error": {"message": "No", "metadata": {"raw": "all that was asked"}}}, "No"),
        ("all that was asked", ""),
        (5, ""),
    ],
)
def test_what_the_endpoint_said_is_kept_but_not_what_it_repeats(body: object, detail: str) -> None:
    assert error_for_response(400, json.dumps(body).encode()).detail == detail
    assert error_for_response(400, b"not json").detail == ""


def test_an_option_that_is_named_can_be_left_out() -> None:
    error = error_for_response(
        400, b'{"error": {"message": "Unknown field: Stream_Options"}}', None, OPTIONS
    )
    assert isinstance(error, OptionRefused)
    assert (error.option, error.retryable) == ("stream_options", True)


def test_a_context_that_is_too_long_is_no_matter_of_options() -> None:
    body = b'{"error": {"message": "max_completion_tokens exceeds the maximum context length"}}'
    assert error_for_response(400, body, None, OPTIONS).code == "context_length"


def test_retry_after_is_kept() -> None:
    assert error_for_response(429, b"", 7.0).retry_after == 7.0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": 429}, "rate_limited"),
        ({"code": "502", "message": "x"}, "overloaded"),
        ({"code": 402}, "quota"),
        ({"code": "rate_limit_exceeded"}, "rate_limited"),
        ({"type": "invalid_request_error"}, "bad_request"),
        ({"message": "Request timed out"}, "timeout"),
        ({"code": 99}, "overloaded"),
        ({"code": [1]}, "overloaded"),
        ("boom", "overloaded"),
        (True, "overloaded"),
    ],
)
def test_an_error_inside_an_answer_is_told_by_code_or_words(error: object, code: str) -> None:
    assert error_for_stream_object(error).code == code
