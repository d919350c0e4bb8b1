"""Where models can be had, as plain data."""

from dataclasses import dataclass

from agents.llm.url_policy import EndpointNotAllowed, EndpointPolicy, parse_base_url


@dataclass(frozen=True, slots=True)
class Provider:
    """`base_url` is where it usually is; `is_local` ones may be elsewhere, so it can be changed."""

    name: str
    label: str
    base_url: str
    needs_key: bool
    is_local: bool


OWN_URL = "own"

PROVIDERS = {
    provider.name: provider
    for provider in (
        Provider("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", True, False),
        Provider("openai", "OpenAI", "https://api.openai.com/v1", True, False),
        Provider("ollama", "Ollama", "http://127.0.0.1:11434/v1", False, True),
        Provider("llama_cpp", "llama.cpp", "http://127.0.0.1:8080/v1", False, True),
        Provider("vllm", "vLLM", "http://127.0.0.1:8000/v1", False, True),
        Provider(OWN_URL, "Other, by its address", "", False, True),
    )
}


def build_policy(own: str, inside: tuple[str, ...]) -> EndpointPolicy:
    """Return what an administrator allows, with the providers that everybody knows."""
    known = (p.base_url for p in PROVIDERS.values() if not p.is_local)
    return EndpointPolicy.from_settings(
        own, inside, (parse_base_url(base_url).netloc for base_url in known)
    )


def allowed_providers(policy: EndpointPolicy) -> tuple[Provider, ...]:
    """Return those that can be chosen; local ones where something inside may be used."""
    return tuple(p for p in PROVIDERS.values() if _is_allowed(p, policy))


def _is_allowed(provider: Provider, policy: EndpointPolicy) -> bool:
    if policy.own == "no":
        return False
    return not provider.is_local or policy.own == "yes" or bool(policy.inside)


def resolve_base_url(provider: str, base_url: str) -> str:
    """Return where a provider is for somebody: only a local one may be elsewhere than usual."""
    preset = PROVIDERS.get(provider)
    if preset is None:
        raise EndpointNotAllowed("The chosen provider is no longer available. Choose another.")
    if not preset.is_local:
        return preset.base_url
    return base_url or preset.base_url
