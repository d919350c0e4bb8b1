"""The embedded model: answers from the notes, word for word, with no key and no network."""

from agents.llm.embedded.model import OfflineModel

__all__ = ["OfflineModel"]
