"""What Markdown costs at its worst: CPU for 200,000 characters of every shape, beside prose.

`python -m bench.markdown` prints the dearest shapes, whole and in frames of 500 characters, as
multiples of prose of the same size in the same run.
"""

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip

import time
from collections.abc import Callable

from agents.core.chunks import Content
from chat.markdown import render
from chat.rendering import fragments
from chat.rendering.source_links import source_linker
from tests.chat.run_chunks import PROJECT, a_run, an_answer
from tests.support.shapes import SHAPES, prose

SIZE = 200_000
FRAME_CHARS = 500
MAX_LISTED = 12


def whole(text: str) -> None:
    render(text, source_linker(PROJECT))


def live(text: str) -> None:
    answer, run = an_answer(), a_run()
    for at in range(0, len(text), FRAME_CHARS):
        answer.apply(Content(content=text[at : at + FRAME_CHARS]))
        fragments.render_update(answer, run)


def measure_seconds(work: Callable[[str], None], text: str) -> float:
    began = time.process_time()
    work(text)
    return time.process_time() - began


def measure_ratio(work: Callable[[str], None], text: str) -> float:
    """The least of three, each beside prose: neighbours only ever add."""
    control = prose(SIZE)
    return min(measure_seconds(work, text) / measure_seconds(work, control) for _ in range(3))


def main() -> None:
    for work in (whole, live):
        work(prose(10_000))
        found = sorted((measure_ratio(work, shape(SIZE)), name) for name, shape in SHAPES.items())
        print(f"{work.__name__}: {len(found)} shapes of {SIZE:,} characters, times prose")
        for times, name in reversed(found[-MAX_LISTED:]):
            print(f"  {times:5.1f}  {name}")


if __name__ == "__main__":
    main()
