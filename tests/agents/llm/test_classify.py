import json

import pytest

from agents.llm.classify import error_in_stream, refusal
from agents.llm.errors import OptionRefused

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
        error = refusal(status, body)
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
        assert refusal(status, json.dumps(body).encode()).code == code


@pytest.mark.parametrize(
    "body",
    [{"message": "x", "code": "context_length_exceeded"}, {"type": "context_length_exceeded"}],
)
def test_codes_and_types_are_looked_at(body: dict[str, str]) -> None:
    assert refusal(400, json.dumps({"error": body}).encode()).code == "context_length"


def test_an_option_that_is_named_can_be_left_out() -> None:
    error = refusal(400, b'{"error": {"message": "Unknown field: Stream_Options"}}', None, OPTIONS)
    assert isinstance(error, OptionRefused)
    assert (error.option, error.retryable) == ("stream_options", True)


def test_a_context_that_is_too_long_is_no_matter_of_options() -> None:
    body = b'{"error": {"message": "max_completion_tokens exceeds the maximum context length"}}'
    assert refusal(400, body, None, OPTIONS).code == "context_length"


def test_retry_after_is_kept() -> None:
    assert refusal(429, b"", 7.0).retry_after == 7.0


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
    assert error_in_stream(error).code == code
