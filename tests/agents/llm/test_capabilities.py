import pytest

from agents.llm.capabilities import DEFAULT_CAPABILITIES, get_capabilities, thinking_options


@pytest.mark.parametrize(
    ("model", "window", "max_output"),
    [
        ("gpt-4o", 128_000, 16_384),
        ("gpt-4o-2024-05-13", 128_000, 4_096),
        ("openai/gpt-4o-mini-2024-07-18", 128_000, 16_384),
        ("gpt-4.1-nano", 1_047_576, 32_768),
        ("gpt-4-1106-preview", 128_000, 4_096),
        ("gpt-4", 8_192, 8_192),
        ("o3-mini", 200_000, 100_000),
        ("o1-mini-2024-09-12", 128_000, 65_536),
        ("anthropic/claude-3.5-sonnet:beta", 200_000, 8_192),
        ("claude-3-5-sonnet-20241022", 200_000, 8_192),
        ("claude-sonnet-4-20250514", 200_000, 64_000),
        ("google/gemini-2.5-pro", 1_048_576, 65_536),
        ("meta-llama/llama-3.1-70b-instruct:free", 131_072, 8_192),
        ("llama3.1:8b", 131_072, 8_192),
        ("llama3", 8_192, 4_096),
        ("Qwen/Qwen2.5-72B-Instruct", 32_768, 8_192),
        ("qwen3:8b", 40_960, 8_192),
        ("deepseek/deepseek-r1:free", 131_072, 32_768),
        ("deepseek-ai/DeepSeek-V3-0324", 131_072, 8_192),
        ("moonshotai/kimi-k2-thinking", 262_144, 65_536),
        ("x-ai/grok-4", 256_000, 32_768),
        ("openai/gpt-oss-20b", 131_072, 32_768),
    ],
)
def test_a_model_is_known_by_its_id_or_its_family(model: str, window: int, max_output: int) -> None:
    found = get_capabilities(model)
    assert (found.window, found.max_output) == (window, max_output)


@pytest.mark.parametrize("model", ["", "my-own-model", "octo-3", "/", ":"])
def test_an_unknown_model_gets_64k(model: str) -> None:
    assert get_capabilities(model) == DEFAULT_CAPABILITIES
    assert (DEFAULT_CAPABILITIES.window, DEFAULT_CAPABILITIES.max_output) == (64_000, 8_192)


@pytest.mark.parametrize(
    ("model", "cap"),
    [
        ("gpt-4o", "max_tokens"),
        ("o3", "max_completion_tokens"),
        ("openai/gpt-5-mini", "max_completion_tokens"),
        ("openai/gpt-oss-120b", "max_tokens"),
        ("my-own-model", "max_tokens"),
    ],
)
def test_the_cap_goes_by_the_name_that_the_family_knows(model: str, cap: str) -> None:
    assert get_capabilities(model).max_tokens_param == cap


@pytest.mark.parametrize(
    ("model", "host", "options"),
    [
        ("openai/gpt-5", "openrouter.ai", {"reasoning": {"effort": "low"}}),
        ("anthropic/claude-sonnet-4", "openrouter.ai", {"reasoning": {"effort": "low"}}),
        ("qwen/qwen3-32b", "openrouter.ai", {"reasoning": {"enabled": True}}),
        ("gpt-5", "api.openai.com", {"reasoning_effort": "low"}),
        ("gpt-oss-20b", "localhost", {"reasoning_effort": "low"}),
        ("Qwen/Qwen3-8B", "localhost", {"chat_template_kwargs": {"enable_thinking": True}}),
        ("deepseek-v3.1", "localhost", {"chat_template_kwargs": {"thinking": True}}),
        ("deepseek-r1", "localhost", {}),
        ("gpt-4o", "api.openai.com", {}),
        ("gpt-5", "notopenrouter.ai", {"reasoning_effort": "low"}),
    ],
)
def test_thinking_is_switched_on_as_the_family_and_the_host_want(
    model: str, host: str, options: dict[str, object]
) -> None:
    assert thinking_options(model, host, "low") == options
