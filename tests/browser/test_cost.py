"""What a long answer and a long conversation cost, as ratios within one run."""

import pytest
from playwright.sync_api import Page, Response

from tests.browser.expectations import expect
from tests.browser.site import Person, Site
from tests.browser.tabs import Tab, Visitor
from tests.support.long import long_answer
from tests.support.script import call, say
from tests.support.timing import look_again

pytestmark = pytest.mark.ci

MOST_BYTES = 3.0
"""Bytes of all frames of a long answer, as a multiple of its final HTML."""
MOST_GROWTH = 2.0
"""Time for a frame at the end of a long answer, as a multiple of one at its beginning."""
MOST_WEIGHT = 120_000
"""Bytes of HTML, CSS and JavaScript of a chat page, before compression."""
MOST_SCRIPT = 14 * 1024
"""Bytes of our own JavaScript of a page, before compression."""
MOST_OPENING = 1.5
"""Server time to open 2,000 exchanges, as a multiple of 40."""

COUNT_FRAMES = """
() => {
  window.frames_ = 0;
  // Until all listeners have done their work; layout is forced, as a screen would.
  document.addEventListener("htmx:wsBeforeMessage", () => queueMicrotask(() => {
    document.querySelector("#scroll").getBoundingClientRect();
    window.frames_ += 1;
  }), true);
}
"""
WORK = ("ScriptDuration", "RecalcStyleDuration", "LayoutDuration")


class FrameMeter:
    """Measures the processor's time for frames, which other processes do not add to."""

    def __init__(self, page: Page) -> None:
        page.evaluate(COUNT_FRAMES)
        self._page = page
        self._metrics = page.context.new_cdp_session(page)
        self._metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._readings: list[tuple[int, float]] = []

    def read(self) -> None:
        found = self._metrics.send("Performance.getMetrics")["metrics"]
        spent = sum(metric["value"] for metric in found if metric["name"] in WORK)
        self._readings.append((self._page.evaluate("window.frames_"), 1000 * spent))

    @property
    def frames(self) -> int:
        return self._readings[-1][0]

    def cost(self, first: float, last: float) -> float:
        """Return milliseconds a frame between two parts of all frames."""
        begin, end = (
            next(reading for reading in self._readings if reading[0] >= part * self.frames)
            for part in (first, last)
        )
        return (end[1] - begin[1]) / (end[0] - begin[0])


def test_a_48_kb_answer_costs_bytes_and_time_in_proportion(visitor: Visitor, ada: Person) -> None:
    text = long_answer()
    pieces = len(text) // 12
    ada.plays(say(text, pieces=pieces, piece_delay=0.0012))
    tab = visitor.enters(ada)
    meter = FrameMeter(tab.page)
    before = sum(len(frame.encode()) for frame in tab.frames.received)
    tab.ask("Tell me everything.")
    for _ in look_again(0.0):
        meter.read()
        if tab.last.locator(".badge.completed").count():
            break
    else:
        raise AssertionError("the answer does not end")
    meter.read()
    sent = sum(len(frame.encode()) for frame in tab.frames.received) - before
    final = len(tab.last.evaluate("e => e.outerHTML").encode())
    first, last = meter.cost(0, 0.25), meter.cost(0.75, 1)
    print(
        f"\n48 KB: {meter.frames} frames, {sent / final:.2f} times the HTML; "
        f"{first:.2f} ms a frame in the first quarter, {last:.2f} in the last"
    )
    assert meter.frames > 20
    assert sent <= MOST_BYTES * final
    assert last <= MOST_GROWTH * first


def test_a_conversation_of_2000_exchanges_opens_as_fast_as_one_of_40(
    visitor: Visitor, ada: Person, site: Site
) -> None:
    short, long = (
        f"/c/{site.ask('talk', name=ada.name, exchanges=n)['conversation']}/" for n in (40, 2_000)
    )
    tab = visitor.enters(ada)
    for path in (short, long):
        opened(tab, site, path)  # what a process keeps is kept now
    times: dict[str, list[float]] = {short: [], long: []}
    for _ in range(5):
        for path in (short, long):
            times[path].append(opened(tab, site, path, times=3))
    ratio = min(times[long]) / min(times[short])  # what else is at work only adds to it
    print(f"\n2,000 exchanges: {min(times[long]):.0f} ms, {ratio:.2f} times 40")
    assert ratio <= MOST_OPENING
    expect(tab.exchanges.last).to_contain_text("Question number 1999?")


def opened(tab: Tab, site: Site, path: str, times: int = 1) -> float:
    """Milliseconds of the server's processor that it takes to open a page, socket included."""
    before = site.cpu_ms()
    for _ in range(times):
        tab.go(path)
    return (site.cpu_ms() - before) / times


def test_earlier_exchanges_are_loaded_when_they_are_asked_for(
    visitor: Visitor, ada: Person, site: Site
) -> None:
    made = site.ask("talk", name=ada.name, exchanges=75)["conversation"]
    tab = visitor.enters(ada, f"/c/{made}/")
    assert tab.exchanges.count() < 75
    tab.page.wait_for_function(
        """() => {
          document.querySelector("#scroll").scrollTop = 0;
          window.scrollTo(0, 0);
          return document.querySelectorAll("#thread article.exchange").length === 75;
        }"""
    )
    expect(tab.exchanges).to_have_count(75)
    expect(tab.exchanges.first).to_contain_text("Question number 0?")
    numbers = tab.page.locator(".question-text").all_inner_texts()
    assert numbers == [f"Question number {n}?" for n in range(75)]


RICH = """\
The bridge was **surveyed** in March [[survey.md]]:

| pier | finding | cost |
|---|---|---:|
| north | cracks in the cap, *not* urgent | 1,200 |
| south | scour at the foot, **urgent** | 14,500 |

1. Close the south lane.
2. Fill the scour with stone, then look again:

```python
def due(today, survey):
    return (today - survey).days > 90
```

> The foot of the south pier has lost a third of its cover.
"""


def test_a_chat_page_weighs_little(visitor: Visitor, ada: Person) -> None:
    ada.plays(call("vault_search", queries=["bridge"]), say(RICH), call("vault_list"), say(RICH))
    tab = visitor.enters(ada)
    tab.ask("What did the survey find?").ended()
    tab.ask("And what is to be done?").ended()
    sizes: dict[str, int] = {}

    def weigh(response: Response) -> None:
        kind = response.request.resource_type
        if kind in ("document", "script", "stylesheet"):
            sizes[response.url] = len(response.body())

    tab.page.on("response", weigh)
    tab.reload()
    print(f"\nchat page: {sizes}, {sum(sizes.values()):,} bytes")
    assert sum(sizes.values()) < MOST_WEIGHT
    assert sum(size for url, size in sizes.items() if "/static/js/" in url) < MOST_SCRIPT
    assert sum(size for url, size in sizes.items() if ".css" in url) < 30_000
