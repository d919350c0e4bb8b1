"""Load the project's templates without the white space that only formats their source.

In every template
- a tag may be broken between its attributes: the line break and its indentation count as one space,
  and as nothing before the closing `>`;
- an empty comment at the end of a line, `{# #}`, joins it with the next, without a space.

In a fragment (a file in a folder `fragments`) white space between two tags goes too if it has a
line break, so that an indented file gives the bytes of a single line. A tag is one of HTML or of
Django (`{% %}`, `{{ }}`, `{# #}`).

Not touched: white space next to text, within quotes, on one line, at either end of a file, and all
of `pre`, `textarea`, `script` and `style`. So a space that matters stands on one line with both its
neighbours, or before `{# #}`. Django's cached loader around this one lets it run once a template.
"""

import re

from django.template import Origin
from django.template.loaders import filesystem

FRAGMENTS = "fragments"

_MARK = r"\{%[^\n]*?%\}|\{\{[^\n]*?\}\}|\{#[^\n]*?#\}"
_QUOTED = rf"\"(?:{_MARK}|[^\"])*+\"|'(?:{_MARK}|[^'])*+'"
_VERBATIM = r"<(?P<name>pre|textarea|script|style)\b.*?</(?P=name)>"
_TAG = re.compile(
    rf"{_VERBATIM}|(?P<tag></?[a-z](?:{_MARK}|{_QUOTED}|[^>])*+>)|{_MARK}",
    re.DOTALL | re.IGNORECASE,
)
_CONTINUED = re.compile(r"\{# #\}\n\s*")
_BREAK_IN_TAG = re.compile(rf"(?P<kept>{_MARK}|{_QUOTED})|\s*\n\s*(?P<end>/?>)?")


class Loader(filesystem.Loader):
    """Find templates in the project's own folders, and load them as `compact` makes them."""

    def get_contents(self, origin: Origin) -> str:
        folders = str(origin.template_name).split("/")[:-1]
        return compact(super().get_contents(origin), is_fragment=FRAGMENTS in folders)


def compact(source: str, *, is_fragment: bool) -> str:
    """Return the source of a template without the line breaks that only format it."""
    source = _CONTINUED.sub("", source)
    parts, end = [], 0
    for found in _TAG.finditer(source):
        parts.append(_strip_between(source[end : found.start()], is_fragment and end > 0))
        parts.append(_BREAK_IN_TAG.sub(_join_lines, found[0]) if found["tag"] else found[0])
        end = found.end()
    return "".join(parts) + source[end:]


def _strip_between(text: str, is_stripped: bool) -> str:
    return "" if is_stripped and "\n" in text and text.isspace() else text


def _join_lines(found: re.Match[str]) -> str:
    return found["kept"] or found["end"] or " "
