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
MAX_NAME = 60
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


_INTO = NodeOption(type="key", kind=TEXT, about="the blackboard key that receives the result")
_SECONDS = NodeOption(
    type="number", at_most=3_600, about="the time limit, never more than the run's time"
)
_REQUEST: Mapping[str, NodeOption] = {
    "say": NodeOption(type="template", about="what the model is told, once per phase"),
    "tools": NodeOption(
        type="tools", about="`:all`, `:reading` (those that only read), `:none`, or names"
    ),
    "into": _INTO,
    "budget": NodeOption(
        type="number",
        at_least=0,
        at_most=10_000_000,
        about="the token limit of the answer; 0: as many as the run has",
    ),
    "timeout": _SECONDS,
}
NODE_KINDS: Mapping[str, NodeKind] = {
    "sequence": NodeKind(
        children=(1, MANY), about="Runs its nodes in order. Fails as soon as one fails."
    ),
    "selector": NodeKind(
        children=(1, MANY), about="Runs its nodes in order. Succeeds as soon as one succeeds."
    ),
    "repeater": NodeKind(
        children=(1, 1),
        about="Repeats its node, and succeeds when what it waits for has come. At the maximum it "
        "fails with `:until-success`, otherwise it succeeds. Fails at once after a failed request "
        "for which its node had no other branch.",
        options={
            "until-success": NodeOption(type="flag", about="ends when its node succeeds"),
            "until-failure": NodeOption(type="flag", about="ends when its node fails"),
            "max-iterations": NodeOption(
                type="number",
                at_most=1_000,
                about=f"the most rounds, and failed requests in them; default {MAX_ITERATIONS}",
            ),
        },
    ),
    "for-each": NodeKind(
        subject="list",
        children=(1, 1),
        about="Runs its node for each item of a list, in order, until one fails.",
        options={"as": NodeOption(type="item", about="the name of an item; default `:item`")},
    ),
    "parallel": NodeKind(
        children=(1, MANY),
        about="Runs its calls in parallel: `call` and `action` nodes, or one `for-each` of one.",
        options={
            "policy": NodeOption(
                type="choice",
                words=("require-all", "require-one", "continue-on-failure"),
                about="what has to succeed: all (the default), one, or none",
            ),
            "wait-for-all": NodeOption(
                type="flag",
                about="with `require-one`, do not cancel the others at the first success",
            ),
            "max": NodeOption(type="number", at_most=64, about="how many at the same time"),
        },
    ),
    "decorator": NodeKind(
        subject="name",
        children=(1, 1),
        about="Wraps its node in a registered decorator, with that decorator's keywords.",
    ),
    "subtree": NodeKind(
        subject="name",
        children=(0, 1),
        about="Names its node, or runs another behaviour by its name.",
        options={
            "with": NodeOption(type="ports", about="keys of that behaviour, each with its value"),
            "into": NodeOption(
                type="ports", about="own keys, each with the key of that behaviour to copy back"
            ),
        },
    ),
    "condition": NodeKind(
        subject="test",
        about="Evaluates a registered condition, or an expression in quotes. Succeeds if it holds.",
    ),
    "action": NodeKind(
        subject="name",
        about="Runs a registered action. With `:fn`, its name is only a label.",
        options={
            "fn": NodeOption(type="label", at_most=100, about="the action to run"),
            "args": NodeOption(type="args", about="its arguments"),
        },
    ),
    "llm-call": NodeKind(
        about="Makes one request to the model. It needs a `budget-check` of its own.",
        options={
            "model": NodeOption(
                type="read",
                kind=TEXT,
                words=("main",),
                about="`:main`, or a key that holds the model",
            ),
            "messages": NodeOption(
                type="read", kind=ListKind(ANY), about="a key that represents the conversation"
            ),
            **_REQUEST,
            "stream-to": NodeOption(
                type="choice", words=("partial-response",), about="`[:partial-response]`: the chat"
            ),
            "interruptible": NodeOption(
                type="flag", about="ignored: a request always ends when the run is stopped"
            ),
        },
    ),
    "turn": NodeKind(
        about="Does a checkpoint, a request and the tool calls of its answer. Succeeds if the "
        "model answered, fails if it called tools or the request failed.",
        options={
            **_REQUEST,
            "interim": NodeOption(
                type="label",
                at_most=40,
                about="the label of its text, which is then not the answer",
            ),
        },
    ),
    "call": NodeKind(
        subject="name",
        about="Calls a tool.",
        options={"args": NodeOption(type="args", about="its arguments"), "into": _INTO},
    ),
    "set": NodeKind(
        subject="assignment",
        about="Writes a value to a key of the blackboard.",
        options={
            "most": NodeOption(
                type="number", at_most=1_000, about="how many items of a list to keep"
            )
        },
    ),
    "notify": NodeKind(subject="text", about="Shows a notice to the user."),
    "approve": NodeKind(subject="text", about="Asks the user, and continues after a yes."),
    "stop": NodeKind(
        subject="reason", about="Ends the run for a reason whose outcome is `limited`."
    ),
    "succeed": NodeKind(about="Succeeds."),
    "fail": NodeKind(subject="optional text", about="Fails, and may say why."),
}
