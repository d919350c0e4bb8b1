"""What stands after the keywords of a node, each checked as its signature says."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from agents.core.behaviours.behaviour import BoundValue
from agents.core.behaviours.sexp import SourceForm
from agents.core.behaviours.signatures import NodeOption
from agents.core.behaviours.values import NO_VALUE, ValueReader, get_literal, suggest_keyword
from agents.core.behaviours.words import CONDITION
from agents.core.control.kinds import ANY, NUMBER, ListKind, ValueKind, fits
from agents.core.control.problems import suggest_name

TOOL_CHOICES = ("all", "reading", "none")


@dataclass(frozen=True, slots=True)
class OptionReader:
    """Reads the options of one node."""

    values: ValueReader
    writable: Mapping[str, ValueKind]
    """The keys that can be written: those of the blackboard, not the items of lists."""
    tools: Collection[str] | None
    gathers: bool = False
    """Whether results are gathered into a list, since several are got side by side."""

    def read(self, option: NodeOption, form: SourceForm) -> Any:
        readers: Mapping[str, Callable[[NodeOption, SourceForm], Any]] = {
            "args": self._read_args,
            "choice": self._read_choice,
            "flag": lambda _, form: form.source != "false",
            "item": self._read_item,
            "key": self._read_target,
            "label": self._read_label,
            "number": self._read_number,
            "ports": lambda *_: None,  # read when the behaviour is known that has them
            "read": self._read_stand_in,
            "template": lambda _, form: self.values.read_template(form),
            "tools": self._read_tools,
            "value": self._read_value,
        }
        return readers[option.type](option, form)

    def _read_args(self, option: NodeOption, form: SourceForm) -> dict[str, BoundValue]:
        pairs = self.values.read_pairs(form)
        return {name: self.values.read(value) for name, value in pairs.items()}

    def _read_choice(self, option: NodeOption, form: SourceForm) -> str:
        chosen = form.items[0] if form.type == "[" and len(form.items) == 1 else form
        if chosen.type == "keyword" and chosen.text in option.words:
            return chosen.text
        known = ", ".join(f":{word}" for word in option.words)
        near = suggest_keyword(chosen.text, option.words)
        self.values.refuse(chosen, f"expected one of {known}{near}")
        return option.words[0]

    def _read_item(self, option: NodeOption, form: SourceForm) -> str:
        if form.type == "keyword" and form.text.isidentifier():
            return form.text
        self.values.refuse(form, "expected a name for the items, such as :item")
        return "item"

    def _read_target(self, option: NodeOption, form: SourceForm) -> str:
        wanted: ValueKind = ListKind(option.kind) if self.gathers else option.kind
        return self.find_writable(form, wanted)

    def find_writable(self, form: SourceForm, kind: ValueKind) -> str:
        """Return the key that takes values of a kind, or nothing."""
        name = self.values.find_key(form)
        if name and name not in self.writable:
            self.values.refuse(form, f":{name} is an item of a list and cannot be written")
            return ""
        if name and not fits(kind, self.writable[name]):
            text = f":{name} is {self.writable[name].name}, and {kind.name} is written to it"
            self.values.refuse(form, text)
        return name

    def _read_label(self, option: NodeOption, form: SourceForm) -> str:
        if form.type == "text" and len(form.text.strip()) > 0 and len(form.text) <= option.at_most:
            return form.text
        self.values.refuse(form, f"expected a text of at most {option.at_most:g} characters")
        return ""

    def _read_number(self, option: NodeOption, form: SourceForm) -> BoundValue:
        value = self.values.read(form, NUMBER)
        if value.is_literal:
            number = get_literal(value)
            if number is None or not option.at_least <= number <= option.at_most:
                bounds = f"from {option.at_least:,} to {option.at_most:,}"
                self.values.refuse(form, f"expected a number {bounds}")
        return value

    def _read_stand_in(self, option: NodeOption, form: SourceForm) -> BoundValue:
        """Read a key that stands for what every run has, or one of its words."""
        if form.type == "keyword" and form.text in option.words:
            return self.values.read(form)
        if form.head == "blackboard":
            return self.values.read(form, option.kind)
        known = "".join(f":{word} or " for word in option.words)
        self.values.refuse(form, f"only {known}(blackboard :key) can stand here: the run's own")
        return NO_VALUE

    def _read_tools(self, option: NodeOption, form: SourceForm) -> str | tuple[str, ...] | None:
        """Read which of the run's tools are offered; None: those of the run."""
        if form.head == "blackboard":
            self.values.read(form, ListKind(ANY))
            return None
        if form.type == "keyword" and form.text in TOOL_CHOICES:
            return form.text
        if form.type == "[":
            return tuple(self.check_tool(item) for item in form.items)
        known = ", ".join(f":{word}" for word in TOOL_CHOICES)
        near = suggest_keyword(form.text, TOOL_CHOICES)
        self.values.refuse(form, f"expected one of {known}, or a list of names{near}")
        return None

    def check_tool(self, form: SourceForm) -> str:
        """Return the name of a tool that there is."""
        if form.type not in ("word", "text"):
            self.values.refuse(form, "expected the name of a tool")
            return ""
        name = form.text
        if self.tools is not None and name not in self.tools:
            near = suggest_name(name, self.tools)
            self.values.refuse(form, f"there is no tool {name[:80]!r}{near}")
        return name

    def _read_value(self, option: NodeOption, form: SourceForm) -> Any:
        """Read what a registered word takes: a literal, or a condition."""
        if option.kind == CONDITION:
            return self.values.read_condition(form)
        value = self.values.read(form, option.kind)
        if value is not NO_VALUE and not value.is_literal:
            self.values.refuse(form, "this must be known before a run: write the value itself")
        return get_literal(value) if value.is_literal else None
