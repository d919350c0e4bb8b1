"""The parts of an answer, and which of them a page has: it is sent only the rest."""

from chat.rendering.parts import AnswerPart, TextPart, ToolCard, ToolsPart


class SentParts:
    """Read `new_parts` and `changed_parts`, send them, then `mark_sent`."""

    def __init__(self) -> None:
        self.parts: list[AnswerPart] = []
        self._cards: dict[tuple[str, str], tuple[ToolsPart, ToolCard]] = {}
        """By the call that started the subagent, if one made it, and the call's own id."""
        self._sent_count = 0
        self._changed: dict[str, AnswerPart | ToolCard] = {}
        self.closing_changed = self.sources_changed = self.usage_changed = self.just_ended = False

    @property
    def new_parts(self) -> list[AnswerPart]:
        """Parts that a page does not have yet."""
        return self.parts[self._sent_count :]

    @property
    def changed_parts(self) -> list[AnswerPart | ToolCard]:
        """What a page has, and has to be told about again."""
        fresh = set(map(id, self.new_parts))
        return [thing for thing in self._changed.values() if id(self._get_part(thing)) not in fresh]

    def _get_part(self, thing: AnswerPart | ToolCard) -> AnswerPart:
        return self._cards[thing.parent, thing.call_id][0] if isinstance(thing, ToolCard) else thing

    @property
    def has_writes(self) -> bool:
        """Whether a tool that changes notes was called and may have done it."""
        return any(card.writes for _, card in self._cards.values())

    @property
    def has_text(self) -> bool:
        """Whether anything that the model wrote is shown, thinking or answer."""
        return any(isinstance(part, TextPart) for part in self.parts)

    @property
    def has_other_changes(self) -> bool:
        """Whether something besides the parts has changed."""
        return self.closing_changed or self.sources_changed or self.usage_changed or self.just_ended

    def mark_sent(self) -> None:
        """Note that the page has everything."""
        self._sent_count = len(self.parts)
        self._changed.clear()
        self.closing_changed = self.sources_changed = self.usage_changed = self.just_ended = False
        for part in self.parts:
            if isinstance(part, TextPart):
                part.sent_blocks, part.sent_tail = len(part.closed), part.tail
        for _, card in self._cards.values():
            card.is_sent = True

    def _mark_changed(self, thing: AnswerPart | ToolCard) -> None:
        self._changed[thing.id] = thing
