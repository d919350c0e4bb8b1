"""The parts of a node's form: what stands after its name, keywords with values, children."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from agents.core.behaviours.sexp import SourceForm
from agents.core.behaviours.signatures import NodeKind, NodeOption, SubjectType
from agents.core.behaviours.values import READS, ValueReader, suggest_keyword

_WANTED: Mapping[SubjectType, tuple[tuple[str, ...], str]] = {
    "name": (("word",), "a name"),
    "list": (("(", "["), "a list, such as (blackboard :topics)"),
    "test": (("word", "text"), "the name of a condition, or an expression in quotes"),
    "assignment": (("keyword",), "a key of the blackboard"),
    "text": (("text",), "a text in quotes"),
    "optional text": (("text",), "a text in quotes"),
    "reason": (("word",), "the reason"),
}
"""What may stand after the name of a node: the types of its form, and its words."""
_TAKES_KEYWORD = frozenset({"choice", "item", "key", "read", "tools", "value"})
MAX_LABEL = 2_000


@dataclass(slots=True)
class NodeParts:
    """A node's form, taken apart. `subject` has two forms where a value is assigned."""

    form: SourceForm
    subject: tuple[SourceForm, ...] = ()
    options: dict[str, SourceForm] = field(default_factory=dict)
    """What stands after each keyword; after a flag, the flag itself or true or false."""
    children: list[SourceForm] = field(default_factory=list)


def is_node(form: SourceForm) -> bool:
    return form.type == "(" and form.head not in READS


def split_node(
    form: SourceForm, kind: NodeKind, options: Mapping[str, NodeOption] | None, values: ValueReader
) -> NodeParts:
    """Take a node apart, and refuse what cannot stand in it; options may be unknown (None)."""
    parts = NodeParts(form)
    rest = list(reversed(form.items[1:]))
    _take_subject(parts, kind, rest, values)
    while rest:
        item = rest.pop()
        if item.type == "keyword":
            _take_option(parts, item, options, rest, values)
        elif is_node(item):
            parts.children.append(item)
        else:
            values.refuse(item, f"this does not belong in {form.head}")
    _check_children(parts, kind, values)
    return parts


def _take_subject(
    parts: NodeParts, kind: NodeKind, rest: list[SourceForm], values: ValueReader
) -> None:
    if not kind.subject:
        return
    types, wanted = _WANTED[kind.subject]
    size = 2 if kind.subject == "assignment" else 1
    taken = [rest.pop() for _ in range(min(size, len(rest)))]
    fits = len(taken) == size and taken[0].type in types
    if fits and not (kind.subject == "list" and is_node(taken[0])):
        parts.subject = tuple(taken)
        return
    rest.extend(reversed(taken))
    if kind.subject != "optional text":
        values.refuse(parts.form, f"{parts.form.head} needs {wanted}")
        if kind.subject == "assignment":
            rest.clear()


def _take_option(
    parts: NodeParts,
    keyword: SourceForm,
    options: Mapping[str, NodeOption] | None,
    rest: list[SourceForm],
    values: ValueReader,
) -> None:
    name, head = keyword.text, parts.form.head
    option = None if options is None else options.get(name)
    if options is not None and option is None:
        near = suggest_keyword(name, options)
        values.refuse(keyword, f"{head} has no keyword :{name}{near}")
    if name in parts.options:
        values.refuse(keyword, f":{name} is given twice")
    following = rest[-1] if rest else None
    if option is not None and option.type == "flag":
        has_value = following is not None and following.source in ("true", "false")
        parts.options[name] = rest.pop() if has_value else keyword
    elif following is None or is_node(following) or _is_keyword_too_many(following, option):
        if option is not None:
            values.refuse(keyword, f":{name} has no value")
    else:
        taken = rest.pop()
        if option is not None:
            parts.options.setdefault(name, taken)


def _is_keyword_too_many(form: SourceForm, option: NodeOption | None) -> bool:
    return form.type == "keyword" and (option is None or option.type not in _TAKES_KEYWORD)


def _check_children(parts: NodeParts, kind: NodeKind, values: ValueReader) -> None:
    fewest, most = kind.children
    count, head = len(parts.children), parts.form.head
    if fewest <= count <= most:
        return
    if most == 0:
        values.refuse(parts.children[0], f"{head} has no nodes inside")
    elif most == 1:
        values.refuse(parts.form, f"{head} has one node inside, not {count}")
    else:
        values.refuse(parts.form, f"{head} has at least one node inside")


def write_label(form: SourceForm) -> str:
    """Return a node as it was written, without its children, on one line."""
    text = " ".join(_write(item) for item in form.items if not is_node(item))
    return text if len(text) <= MAX_LABEL else f"{text[: MAX_LABEL - 1]}…"


def _write(form: SourceForm) -> str:
    if form.type in ("(", "[", "{"):
        closing = {"(": ")", "[": "]", "{": "}"}[form.type]
        return f"{form.type}{' '.join(map(_write, form.items))}{closing}"
    return " ".join(form.source.split())
