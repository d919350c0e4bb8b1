import inspect
import re

import pytest

from agents.core.messages import ModelError
from agents.llm import errors
from agents.llm.errors import EndpointError, OptionRefused

KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, EndpointError)
    and kind.code != EndpointError.code
    and kind is not OptionRefused
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_speaks_in_sentences_to_a_person(kind: type[EndpointError]) -> None:
    text = str(kind())
    assert re.fullmatch(r"[A-Z].*[.]", text)
    assert isinstance(kind(), ModelError)
    assert re.fullmatch("[a-z_]+", kind.code)


def test_every_error_is_drawn_in_the_docstring() -> None:
    drawing = errors.__doc__ or ""
    assert [kind.__name__ for kind in KINDS if kind.__name__ not in drawing] == []
    assert [kind.code for kind in KINDS if kind.code not in drawing] == []


def test_an_option_that_was_refused_is_named() -> None:
    assert "'stream_options'" in str(OptionRefused("stream_options"))
