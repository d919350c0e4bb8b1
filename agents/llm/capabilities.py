"""What a model can take and give, by its id: exact, then by family, then a cautious default.

Figures as their makers published them; a server may run an open model with a smaller window.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

Thinking = Literal["none", "always", "effort", "template", "router"]
"""How thinking is switched on: not at all, always on, by `reasoning_effort`, by an argument of the
chat template, or only through a router's own `reasoning` parameter."""

MaxTokensParam = Literal["max_tokens", "max_completion_tokens"]

K = 1024


@dataclass(frozen=True, slots=True)
class Capabilities:
    window: int
    max_output: int
    thinking: Thinking = "none"
    max_tokens_param: MaxTokensParam = "max_tokens"


DEFAULT_CAPABILITIES = Capabilities(64_000, 8_192)

_BY_MODEL_ID = {
    "gpt-4o-2024-05-13": Capabilities(128_000, 4_096),
    "gpt-4-32k": Capabilities(32_768, 32_768),
    "gpt-4-turbo": Capabilities(128_000, 4_096),
    "gpt-5-chat-latest": Capabilities(128_000, 16_384, max_tokens_param="max_completion_tokens"),
    "o1-mini": Capabilities(128_000, 65_536, "always", "max_completion_tokens"),
    "o1-preview": Capabilities(128_000, 32_768, "always", "max_completion_tokens"),
    "deepseek-chat": Capabilities(128_000, 8_192),
    "deepseek-reasoner": Capabilities(128_000, 65_536, "always"),
}

_OPENAI_THINKING = ("effort", "max_completion_tokens")

_BY_FAMILY: dict[str, tuple[Any, ...]] = {
    # OpenAI
    "gpt3.5": (16_385, 4_096),
    "gpt4": (8_192, 8_192),
    "gpt4-turbo": (128_000, 4_096),
    "gpt4-1106": (128_000, 4_096),
    "gpt4-0125": (128_000, 4_096),
    "gpt4o": (128_000, 16_384),
    "chatgpt4o": (128_000, 16_384),
    "gpt4.1": (1_047_576, 32_768),
    "gpt4.5": (128_000, 16_384),
    "gpt5": (400_000, 128_000, *_OPENAI_THINKING),
    "o1": (200_000, 100_000, *_OPENAI_THINKING),
    "o3": (200_000, 100_000, *_OPENAI_THINKING),
    "o4": (200_000, 100_000, *_OPENAI_THINKING),
    "gpt-oss": (131_072, 32_768, "effort"),
    # Anthropic
    "claude2": (100_000, 4_096),
    "claude3": (200_000, 4_096),
    "claude3.5": (200_000, 8_192),
    "claude3-5": (200_000, 8_192),
    "claude3.7": (200_000, 64_000, "router"),
    "claude3-7": (200_000, 64_000, "router"),
    "claude-sonnet4": (200_000, 64_000, "router"),
    "claude-haiku4": (200_000, 64_000, "router"),
    "claude-opus4": (200_000, 32_000, "router"),
    "claude4": (200_000, 32_000, "router"),
    # Google
    "gemini1.5-flash": (1_048_576, 8_192),
    "gemini1.5-pro": (2_097_152, 8_192),
    "gemini2.0": (1_048_576, 8_192),
    "gemini2.5": (1_048_576, 65_536, "effort"),
    "gemini3": (1_048_576, 65_536, "effort"),
    "gemma2": (8_192, 8_192),
    "gemma3": (128 * K, 8_192),
    # Meta
    "llama3": (8_192, 4_096),
    "llama3.1": (128 * K, 8_192),
    "llama3.2": (128 * K, 8_192),
    "llama3.3": (128 * K, 8_192),
    "meta-llama3": (8_192, 4_096),
    "meta-llama3.1": (128 * K, 8_192),
    "llama4-maverick": (1_048_576, 16_384),
    "llama4-scout": (1_048_576, 16_384),
    # Mistral
    "mistral": (32 * K, 8_192),
    "mistral-nemo": (128 * K, 8_192),
    "mistral-small": (32 * K, 8_192),
    "mistral-small3.1": (128 * K, 8_192),
    "mistral-small3.2": (128 * K, 8_192),
    "mistral-medium": (128 * K, 8_192),
    "mistral-large": (128 * K, 8_192),
    "mixtral": (32 * K, 8_192),
    "mixtral-8x22b": (64 * K, 8_192),
    "ministral": (128 * K, 8_192),
    "codestral": (256 * K, 8_192),
    "devstral": (128 * K, 8_192),
    "magistral": (40 * K, 8_192, "always"),
    # Alibaba
    "qwen2.5": (32 * K, 8_192),
    "qwen3": (40 * K, 8_192, "template"),
    "qwen3-coder": (256 * K, 65_536),
    "qwen3-max": (256 * K, 32_768),
    "qwen3-235b-a22b-2507": (256 * K, 32_768),
    "qwen3-next": (256 * K, 32_768),
    "qwq": (128 * K, 32_768, "always"),
    # DeepSeek
    "deepseek-v2": (128 * K, 8_192),
    "deepseek-v3": (128 * K, 8_192),
    "deepseek-v3.1": (128 * K, 8_192, "template"),
    "deepseek-v3.2": (128 * K, 8_192, "template"),
    "deepseek-chat": (128 * K, 8_192),
    "deepseek-chat-v3.1": (128 * K, 8_192, "template"),
    "deepseek-r1": (128 * K, 32_768, "always"),
    "deepseek-coder": (128 * K, 8_192),
    # Others
    "phi3": (128 * K, 4_096),
    "phi4": (16 * K, 4_096),
    "phi4-mini": (128 * K, 4_096),
    "phi4-reasoning": (32 * K, 8_192, "always"),
    "command-r": (128_000, 4_096),
    "command-a": (256_000, 8_192),
    "glm4": (128_000, 8_192),
    "glm4.5": (128_000, 65_536, "template"),
    "glm4.6": (200_000, 65_536, "template"),
    "kimi-k2": (128 * K, 16_384),
    "kimi-k2-0905": (256 * K, 16_384),
    "kimi-k2-thinking": (256 * K, 65_536, "always"),
    "grok2": (131_072, 8_192),
    "grok3": (131_072, 16_384),
    "grok3-mini": (131_072, 16_384, "effort"),
    "grok4": (256_000, 32_768, "always"),
    "grok-code": (256_000, 16_384, "always"),
}

_DATE = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")
_BEFORE_NUMBER = re.compile(r"(?<=[a-z])-(?=\d)")


@lru_cache(maxsize=256)
def get_capabilities(model: str) -> Capabilities:
    name = model.lower().rpartition("/")[2].partition(":")[0]
    for candidate in (name, _DATE.sub("", name)):
        if candidate in _BY_MODEL_ID:
            return _BY_MODEL_ID[candidate]
    name = _BEFORE_NUMBER.sub("", name)
    family = max((key for key in _BY_FAMILY if name.startswith(key)), key=len, default=None)
    return Capabilities(*_BY_FAMILY[family]) if family else DEFAULT_CAPABILITIES


def thinking_options(model: str, host: str, effort: str) -> dict[str, Any]:
    """Return the request parameters that switch thinking on, for this model at this host."""
    thinking = get_capabilities(model).thinking
    if host == "openrouter.ai" or host.endswith(".openrouter.ai"):
        if thinking in ("template", "always"):
            return {"reasoning": {"enabled": True}}
        return {"reasoning": {"effort": effort}}
    if thinking == "effort":
        return {"reasoning_effort": effort}
    if thinking == "template":
        switch = "thinking" if "deepseek" in model.lower() else "enable_thinking"
        return {"chat_template_kwargs": {switch: True}}
    return {}
