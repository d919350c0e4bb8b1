"""Models behind OpenAI-compatible endpoints, and the embedded one, as the loop's `ChatModel`.

`client` and `stream` do the talking, over the connections of `transport`; `decoding` turns bytes
into events without I/O. `url_policy` and `providers` say which endpoints people may enter.
"""

from agents.llm.capabilities import get_capabilities
from agents.llm.client import OpenAIChatModel, UnavailableModel, build_http_client
from agents.llm.embedded import OfflineModel
from agents.llm.errors import EmptyStream, EndpointError, NotFound, TimedOut, WrongAddress
from agents.llm.model_list import ModelList, get_known_window, list_models
from agents.llm.providers import PROVIDERS, allowed_providers, build_policy, resolve_base_url
from agents.llm.transport.backend import AddressRefused, Resolve
from agents.llm.transport.lookups import (
    LookupRefused,
    LookupsBusy,
    LookupTimedOut,
    asking_person,
    resolve,
)
from agents.llm.url_policy import (
    EndpointNotAllowed,
    EndpointOrigin,
    EndpointPolicy,
    is_private_hostname,
    parse_base_url,
)

__all__ = [
    "PROVIDERS",
    "AddressRefused",
    "EmptyStream",
    "EndpointError",
    "EndpointNotAllowed",
    "EndpointOrigin",
    "EndpointPolicy",
    "LookupRefused",
    "LookupTimedOut",
    "LookupsBusy",
    "ModelList",
    "NotFound",
    "OfflineModel",
    "OpenAIChatModel",
    "Resolve",
    "TimedOut",
    "UnavailableModel",
    "WrongAddress",
    "allowed_providers",
    "asking_person",
    "build_http_client",
    "build_policy",
    "get_capabilities",
    "get_known_window",
    "is_private_hostname",
    "list_models",
    "parse_base_url",
    "resolve",
    "resolve_base_url",
]
