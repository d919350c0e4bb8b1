"""Requests to the model: the system prompt, the growing conversation, the notes put into it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.core.chunks import SourceRef
from agents.core.messages import Message
from agents.core.reasons import INSIDE_LIMIT, REASONS
from agents.core.sanitize import neutralise_system_notes, replace_unstorable
from agents.core.tokens import message_chars

MAX_NOTES_LISTED = 40
MAX_THREADS_LISTED = 10
_MAX_LISTING_LENGTH = 2_096  # 600 tokens at 3.5 characters each, with the empty lines between
_MAX_THREADS_LENGTH = 600


@dataclass(frozen=True, slots=True)
class PromptNames:
    """The names that a system prompt holds: each one line, all of them within a bound."""

    project: str
    notes: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()


def bound_names(
    project: str, notes: Sequence[str] = (), threads: Sequence[str] = ()
) -> PromptNames:
    """Make names fit for a system prompt. Notes and threads come most recent first."""
    recent, size = _take_fitting("Threads", threads[:MAX_THREADS_LISTED], _MAX_THREADS_LENGTH)
    paths, _ = _take_fitting("Notes", notes[:MAX_NOTES_LISTED], _MAX_LISTING_LENGTH - size)
    return PromptNames(_to_single_line(project), paths, recent)


def _take_fitting(title: str, names: Sequence[str], limit: int) -> tuple[tuple[str, ...], int]:
    """Take as many whole names as fit below a title; return them and their length."""
    taken: list[str] = []
    size = len(title) + 1
    for name in map(_to_single_line, names):
        if size + len(name) + 3 > limit:
            break
        size += len(name) + 3
        taken.append(name)
    return tuple(taken), size if taken else 0


def _to_single_line(text: str) -> str:
    """Return a name as one line, so that no note title can add a paragraph to the prompt."""
    return neutralise_system_notes(" ".join(replace_unstorable(text).split()))[:200]


def wrap_up_note(reason: str) -> str:
    """Return what the model is told on the wrap-up turn."""
    length = "" if reason in INSIDE_LIMIT else " in two or three sentences"
    return (
        f"{REASONS.get(reason).sentence} This is your last reply in this run and tools are "
        f"withheld. Answer now{length} from what you have, and say what is missing."
    )


EMPTY_NOTE = "Your last reply was empty. Answer the question, or call a tool."
GO_ON_NOTE = "Go on."


@dataclass(slots=True)
class Prompt:
    """The messages of a run and their size. Grows at the end only, so that providers can cache."""

    messages: list[Message] = field(default_factory=list)
    chars: int = 0
    has_calls: bool = False

    def add(self, message: Message) -> None:
        self.messages.append(message)
        self.chars += message_chars(message)
        self.has_calls = self.has_calls or "tool_calls" in message

    def add_calls(self, message: Message) -> None:
        """Add an assistant's message with calls; those that a behaviour makes belong to what was
        said before them, because an assistant does not speak twice in a row."""
        last = self.messages[-1]
        if last["role"] == "assistant" and "tool_calls" not in last:
            self.chars -= message_chars(self.messages.pop())
            message = {**message, "content": last["content"]}
        self.add(message)

    def add_notes(self, texts: Sequence[str]) -> str:
        """Put notes after the newest message and return the exact words that were added.

        They are appended to a tool result or a question; after an answer they are a message of
        their own, because a conversation must not end with the assistant.
        """
        words = "\n".join(f"[Oracle: {text}]" for text in texts)
        last = self.messages[-1]
        if last["role"] == "assistant":
            self.add({"role": "user", "content": words})
        else:
            self.messages[-1] = {**last, "content": f"{last['content']}\n\n{words}"}
            self.chars += len(words) + 2
        return words


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationInput:
    """What a run starts from: the system prompt, earlier messages, the question."""

    system: str
    question: str
    history: Sequence[Message] = ()
    context_id: str | None = None
    is_continued: bool = False
    """Whether the run goes on where another one has ended."""
    sources: Sequence[SourceRef] = ()
    """What that other run has found: the answer to come stands on it, too."""

    def build_prompt(self, history: Sequence[Message]) -> Prompt:
        prompt = Prompt()
        prompt.add({"role": "system", "content": self.system})
        for message in history:
            prompt.add(message)
        prompt.add({"role": "user", "content": self.question})
        return prompt
