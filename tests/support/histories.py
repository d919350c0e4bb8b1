"""The history that a run leaves to the next question, judged from its chunks."""

import re
from collections.abc import Sequence

from agents.context_messages import messages_from_chunks
from agents.core.chunks import OracleStreamChunk
from tests.support.scenarios import split_text, squeeze

_ADDED_BY_CODE = re.compile(
    r"\[(?:No answer was written|The answer above ended|The user (?:was asked|said no))[^\n]*\]\Z"
)
"""How a run ended, at the end of its history."""


def find_history_problems(chunks: Sequence[OracleStreamChunk]) -> list[str]:
    """Return what is wrong: it has the answer alone, and one result for every call."""
    messages = messages_from_chunks(chunks)
    said = [message["content"] or "" for message in messages if message["role"] == "assistant"]
    said[-1] = _ADDED_BY_CODE.sub("", said[-1])
    answer, _ = split_text(list(chunks))
    wanted = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    given = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    holds = {
        "its history is not the answer alone": squeeze("".join(said)) == squeeze(answer),
        "its history has not one result per call": wanted == given,
    }
    return [problem for problem, is_kept in holds.items() if not is_kept]
