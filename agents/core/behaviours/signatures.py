"""The kinds of nodes: what each is called, what follows its name, and which keywords it knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agents.core.control.kinds import ANY, NUMBER, TEXT, ListKind, ValueKind

OptionType = Literal[
    "args",
    "choice",
    "flag",
    "item",
    "key",
    "label",
    "number",
    "ports",
    "read",
    "template",
    "tools",
    "value",
]
SubjectType = Literal["", "name", "list", "test", "assignment", "text", "optional text", "reason"]
MAX_ITERATIONS = 50
"""Of a repeater that says nothing else."""
MAX_NODES = 500
MANY = MAX_NODES


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOption:
    """A keyword of a node: what stands after it."""

    type: OptionType
    about: str
    kind: ValueKind = NUMBER
    """Of what is read or written, where that is open."""
    words: tuple[str, ...] = ()
    at_least: float = 1
    at_most: float = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeKind:
    """One kind of node. `subject` is what stands right after its name."""

    about: str
    subject: SubjectType = ""
    children: tuple[int, int] = (0, 0)
    """The fewest and the most."""
    options: Mapping[str, NodeOption] = field(default_factory=dict)


_INTO = NodeOption(type="key", kind=TEXT, about="the blackboard key that takes what came of it")
_SECONDS = NodeOption(
    type="number", at_most=3_600, about="the longest it may take, never more than the run's time"
)
_REQUEST: Mapping[str, NodeOption] = {
    "say": NodeOption(type="template", about="what the model is told, once in a phase"),
    "tools": NodeOption(
        type="tools", about="`:all`, `:reading` (those that write nothing), `:none`, or names"
    ),
    "into": _INTO,
    "budget": NodeOption(
        type="number",
        at_least=0,
        at_most=10_000_000,
        about="the most tokens of the answer; 0: as many as the run has",
    ),
    "timeout": _SECONDS,
}
NODE_KINDS: Mapping[str, NodeKind] = {
    "sequence": NodeKind(
        children=(1, MANY), about="Its nodes in order, until one fails: then it fails."
    ),
    "selector": NodeKind(
        children=(1, MANY), about="Its nodes in order, until one succeeds: then it succeeds."
    ),
    "repeater": NodeKind(
        children=(1, 1),
        about="Its node again and again. At the maximum it fails with `:until-success`, and else "
        "succeeds.",
        options={
            "until-success": NodeOption(type="flag", about="ends when its node succeeds"),
            "until-failure": NodeOption(type="flag", about="ends when its node fails"),
            "max-iterations": NodeOption(
                type="number", at_most=1_000, about=f"the most rounds, {MAX_ITERATIONS} if not said"
            ),
        },
    ),
    "for-each": NodeKind(
        subject="list",
        children=(1, 1),
        about="Its node for each item of a list, in order, until one fails.",
        options={
            "as": NodeOption(type="item", about="what an item is called, `:item` if not said")
        },
    ),
    "parallel": NodeKind(
        children=(1, MANY),
        about="Its calls side by side: `call` and `action` nodes, or one `for-each` of one.",
        options={
            "policy": NodeOption(
                type="choice",
                words=("require-all", "require-one", "continue-on-failure"),
                about="what has to succeed: all of them, which is so if not said, one, or none",
            ),
            "wait-for-all": NodeOption(
                type="flag", about="with `require-one`, the others are not cut at the first success"
            ),
            "max": NodeOption(type="number", at_most=64, about="the most at one time"),
        },
    ),
    "decorator": NodeKind(
        subject="name",
        children=(1, 1),
        about="A registered decorator around its node, with the keywords of that decorator.",
    ),
    "subtree": NodeKind(
        subject="name",
        children=(0, 1),
        about="A name for its node, or another behaviour, by its name.",
        options={
            "with": NodeOption(type="ports", about="its keys, each with the value that it gets"),
            "into": NodeOption(
                type="ports", about="own keys, each with the key that it gets back afterwards"
            ),
        },
    ),
    "condition": NodeKind(
        subject="test",
        about="A registered condition, or an expression in quotes: succeeds if it holds.",
    ),
    "action": NodeKind(
        subject="name",
        about="A registered action; its name is a label where `:fn` names another.",
        options={
            "fn": NodeOption(type="label", at_most=100, about="the action that it is"),
            "args": NodeOption(type="args", about="what it is handed"),
        },
    ),
    "llm-call": NodeKind(
        about="One request to the model, in a `budget-check` of its own.",
        options={
            "model": NodeOption(
                type="read", kind=TEXT, words=("main",), about="`:main`, or a key that holds it"
            ),
            "messages": NodeOption(
                type="read", kind=ListKind(ANY), about="a key that stands for the conversation"
            ),
            **_REQUEST,
            "stream-to": NodeOption(
                type="choice", words=("partial-response",), about="`[:partial-response]`: the chat"
            ),
            "interruptible": NodeOption(
                type="flag", about="whether it ends when the run is stopped: always"
            ),
        },
    ),
    "turn": NodeKind(
        about="A checkpoint, a request, and the tool calls of its answer. Succeeds if the model "
        "answered, fails if it called tools.",
        options={
            **_REQUEST,
            "interim": NodeOption(
                type="label", at_most=40, about="its label, if its text is not yet the answer"
            ),
        },
    ),
    "call": NodeKind(
        subject="name",
        about="A call of a tool.",
        options={"args": NodeOption(type="args", about="its arguments"), "into": _INTO},
    ),
    "set": NodeKind(
        subject="assignment",
        about="Writes a value to a key of the blackboard.",
        options={
            "most": NodeOption(type="number", at_most=1_000, about="the most items of a list")
        },
    ),
    "notify": NodeKind(subject="text", about="Says something to the user."),
    "approve": NodeKind(subject="text", about="Asks the user, and goes on after a yes."),
    "stop": NodeKind(subject="reason", about="Ends the run, for a reason of the limited ones."),
    "succeed": NodeKind(about="Succeeds."),
    "fail": NodeKind(subject="optional text", about="Fails, and may say why."),
}
