"""The transcript in the README: what `make ask` prints, asked on a site of its own.

    python -m bench.transcript    # part of `make screenshots`

Results are cut to a line, long lines are wrapped, and what the end repeats is left out.
"""

import sys
import tempfile
import textwrap
from pathlib import Path

from tests.support.server import manage, prepare

README = Path(__file__).resolve().parent.parent / "README.md"
QUESTION = "Why was radar chosen?"
OPTIONS = ("--set", "max_iterations=3")
BEGIN = "A run that reaches its limit warns, answers from what it has, and says why:\n\n```\n"
END = "```\n"
WIDTH = 100
_OF_TOOLS = ("- vault_", "- thread_", "  ok after")


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="oracle-transcript-") as name:
        prepare(Path(name))
        printed = manage(Path(name), "ask", *OPTIONS, "--", QUESTION)
    before, rest = README.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END, 1)[1]
    README.write_text(before + BEGIN + format_transcript(printed) + END + after, encoding="utf-8")
    return 0


def format_transcript(printed: str) -> str:
    """Return what was printed, up to what a run used: the lines behind it say the same again."""
    lines = printed.splitlines()
    used = next(at for at, line in enumerate(lines) if line.startswith("Used:"))
    return "\n".join(map(_fit, lines[: used + 1])) + "\n"


def _fit(line: str) -> str:
    if line.startswith(_OF_TOOLS):
        return line if len(line) <= WIDTH else line[: WIDTH - 1].rstrip() + "…"
    indent = "  " if line.startswith("- ") else ""
    return "\n".join(textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False))


if __name__ == "__main__":
    sys.exit(main())
