"""Which calls of a run wait for a person's yes, and who wants it."""

from collections.abc import Mapping
from typing import Literal

from agents.core.chunks import Asker
from agents.core.loop.tool_plan import PlannedCall

AskMode = Literal["never", "once", "always"]
"""When a tool that writes asks first: not at all, until somebody agrees in this run, each time."""
ASK_MODES: tuple[AskMode, ...] = ("never", "once", "always")
"""The strictest last."""
_NO_MODES: Mapping[str, AskMode] = {}


def choose_strictest(*modes: AskMode) -> AskMode:
    return max(modes, key=ASK_MODES.index)


class CallHolds:
    """The calls of one run that are held. What a rule holds, no earlier yes lets go."""

    def __init__(
        self,
        modes: Mapping[str, AskMode] = _NO_MODES,
        *,
        has_consent: bool = False,
        can_ask: bool = True,
    ) -> None:
        self.modes = {
            name: mode
            for name, mode in modes.items()
            if mode == "always" or (mode == "once" and not has_consent)
        }
        """Of the tools that have to ask now."""
        self.can_ask = can_ask
        self.calls: list[PlannedCall] = []
        self._rule_words: dict[str, str] = {}

    def hold_for_rule(self, call_id: str, words: str) -> None:
        """Remember that a rule wants a call held. Of several rules, the first one is quoted."""
        self._rule_words.setdefault(call_id, words)

    def refuse_from_now_on(self, name: str) -> None:
        """Hold every further call of a tool, where nobody can be asked: trying again is no way
        round a rule, which looks only so often."""
        self.modes[name] = "always"

    def must_hold(self, entry: PlannedCall) -> bool:
        return entry.id in self._rule_words or entry.name in self.modes

    @property
    def asker(self) -> Asker:
        """Who asks about the calls that are held: a rule, if one of them is a rule's."""
        return "rule" if self._find_rule_words() else "tool"

    @property
    def question(self) -> str:
        """What the person is asked."""
        count = len(self.calls)
        plain = "May I run this call?" if count == 1 else f"May I run these {count} calls?"
        return "\n".join([*dict.fromkeys(self._find_rule_words()), plain])

    def _find_rule_words(self) -> list[str]:
        found = (self._rule_words.get(entry.id) for entry in self.calls)
        return [words for words in found if words is not None]
