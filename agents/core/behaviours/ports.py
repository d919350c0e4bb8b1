"""What a sub-behaviour is handed and gives back: its blackboard shares nothing else."""

from typing import Any

from agents.core.behaviours.behaviour import Behaviour, BoundValue
from agents.core.behaviours.parts import NodeParts
from agents.core.behaviours.placement import Around
from agents.core.behaviours.sexp import SourceForm
from agents.core.behaviours.values import ValueReader, suggest_keyword
from agents.core.control.kinds import fits


class PortReader:
    """Reads `:with` and `:into` of a node that names another behaviour."""

    def __init__(self, behaviour: Behaviour, around: Around) -> None:
        self._name = behaviour.name
        self._theirs = {name: key.kind for name, key in behaviour.schema.items()}
        self._ours = around.writable
        self._values = around.values

    def read(self, parts: NodeParts) -> dict[str, Any]:
        """Return both, checked: their keys with our values, and our keys with their keys."""
        handed, back = parts.options.get("with"), parts.options.get("into")
        return {
            "with": self._read_handed(handed) if handed is not None else {},
            "into": self._read_back(back) if back is not None else {},
        }

    def _read_handed(self, form: SourceForm) -> dict[str, BoundValue]:
        found = {}
        for name, value in self._values.read_pairs(form).items():
            if name in self._theirs:
                found[name] = self._values.read(value, self._theirs[name])
            else:
                near = suggest_keyword(name, self._theirs)
                self._values.refuse(form, f"{self._name} has no key :{name}{near}")
        return found

    def _read_back(self, form: SourceForm) -> dict[str, str]:
        found = {}
        others = ValueReader(self._values.problems, self._theirs)
        for name, value in self._values.read_pairs(form).items():
            if name not in self._ours:
                near = suggest_keyword(name, self._ours)
                self._values.refuse(form, f"there is no blackboard key :{name}{near}")
            elif key := others.find_key(value):
                self._check_kinds(name, key, value)
                found[name] = key
        return found

    def _check_kinds(self, name: str, key: str, form: SourceForm) -> None:
        ours, theirs = self._ours[name], self._theirs[key]
        if not fits(theirs, ours):
            text = f":{name} is {ours.name}, and :{key} of {self._name} is {theirs.name}"
            self._values.refuse(form, text)
