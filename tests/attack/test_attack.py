"""A short version of the standing attack: `make attack` plays it in full.

One fresh server for those that try to stop the others, in `make test-ci`; the long tests play the
rest of them, each of which has a test of its own elsewhere. What breaks is played a second time,
beside a control of its own: whoever really stops the others does it again, and a machine that was
busy does not.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.urls import Resolver404, URLPattern, URLResolver, get_resolver, resolve

from chat.rendering import fragments
from tests.attack import approvals, pages, programs
from tests.attack.__main__ import ATTACKS
from tests.attack.pages import find_faults
from tests.attack.programs import TEXT_CALLS as TEXTS
from tests.attack.scene import BEGUN, ENDED
from tests.attack.table import Row, Times, judge, lines, p99
from tests.attack.target import TICK
from tests.attack.victim import Machine, Noticed
from tests.chat.run_chunks import a_run, an_answer, done
from tests.support.server import ROOT

SHORT = ["--seconds", "1.0", "--crowd", "0.5", "--json"]
LOAD = ("markdown", "reloads", "sign-in names", "acks", "floods", "sockets", "slow readers")
REST = tuple(name for name in ATTACKS if name not in LOAD)


def played(*arguments: str) -> dict[str, dict[str, Any]]:
    """Rows by name, from a process of their own: attackers yield to everybody else."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.attack", *SHORT, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr[-4000:]
    return {row["name"]: row for row in json.loads(done.stdout)}


@cache
def rows(names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    first = played("--one-control", "--only", *names)
    again = [name for name, row in first.items() if row["broken"]]
    return first | (played("--only", *again) if again else {})


@pytest.mark.ci
@pytest.mark.timed
@pytest.mark.parametrize("name", LOAD)
def test_one_person_does_not_stop_the_others(name: str) -> None:
    assert rows(LOAD)[name]["broken"] == []
    assert rows(LOAD)[name]["acts"] > 0


@pytest.mark.long
@pytest.mark.timed
@pytest.mark.parametrize("name", REST)
def test_nor_does_whatever_else_they_try(name: str) -> None:
    assert rows(REST)[name]["broken"] == []
    assert rows(REST)[name]["acts"] > 0


# -- what it waits for ----------------------------------------------------------------------------


def test_an_answer_that_has_begun_is_not_taken_for_one_that_has_ended() -> None:
    shown, run = an_answer([]), a_run()
    begun = fragments.render_answer(shown, run)
    assert BEGUN.search(begun)
    assert not ENDED.search(begun)
    shown.apply(done())
    assert ENDED.search(fragments.render_answer(shown, run))


@pytest.mark.parametrize(
    ("frame", "is_fault"),
    [
        ('<p id="a">so</p>', False),
        ('<p id="a"><script>so</script></p>', True),
        ('<p id="a" onload="so"></p>', True),
        ('<p id="a"><a href="/?onload=so">javascript:so</a></p>', False),
        ('<p id="a"><a href=" java\nscript:so">so</a></p>', True),
        ("<p>nowhere</p>", True),
        ('<p id="a"></a></p>', True),
        ("+12 <script>as text</script>", False),
        ("+1.0 <p>so</p>", False),
        ("+1.0 <p><script>so</script></p>", True),
        ("+1.0 <p></a></p>", True),
    ],
)
def test_every_kind_of_frame_is_looked_at(frame: str, is_fault: bool) -> None:
    assert bool(find_faults(frame)) is is_fault


def list_routes(found: Iterable[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for each in found:
        route = before + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from list_routes(each.url_patterns, route)
        else:
            yield route


def list_attacked() -> Iterator[str]:
    yield from (*pages.RULE_PLACES, *pages.BEHAVIOUR_PLACES, *pages.NOTIFICATION_PLACES)
    yield from (*pages.WAY_PLACES, *pages.LIST_PLACES, *approvals.PLACES)
    yield from ("/api/modes", f"/api/{programs.APPROVAL_PLACE}")
    yield from (f"/api/{kind}{path}" for kind in ("rules", "behaviours") for _, path in TEXTS)
    for kind in ("rules", "behaviours", "notifications", "reminders"):
        yield from (f"/api/{kind}", f"/api/{kind}/{{}}")
    yield "/api/notifications/{}/preview"


def resolve_route(place: str) -> str:
    """Return the route of an address that takes an id, a number or a name."""
    for name in (str(uuid4()), "1", "x"):
        with suppress(Resolver404):
            route = resolve(place.format(name)).route
            if route != "api/":  # what there is not
                return route
    raise AssertionError(f"{place} is no address")


def test_every_address_of_rules_behaviours_notifications_and_approvals_is_attacked() -> None:
    about = re.compile(r"rule|behaviour|notification|reminder|approval|decide|modes|asking")
    routes = {route for route in list_routes(get_resolver().url_patterns) if about.search(route)}
    doors = {route for route in routes if not route.startswith("admin/")}
    assert doors == {resolve_route(place) for place in list_attacked()}
    assert len(doors) > 25


# -- the judgement itself -------------------------------------------------------------------------


CONTROL = Noticed(pages=[(0.1, 0.0)], frames=[(0.2, 0.0)], health=[(0.01, 0.0)])


def noticed(page: float = 0.1, frame: float = 0.2, health: float = 0.01, **more: Any) -> Noticed:
    times = {"pages": [(page, 0.0)], "frames": [(frame, 0.0)], "health": [(health, 0.0)]}
    return Noticed(**{**times, "words": 5, "asked": 5, **more})


def row(
    seen: Noticed, control: Noticed = CONTROL, memory: float = 1.0, *, streams: bool = True
) -> Row:
    return Row(
        name="x",
        acts=10,
        cpu=1.0,
        times=Times.of(seen),
        control=Times.of(control),
        own=Times.own(seen),
        own_control=Times.own(control),
        memory=memory,
        starved=0.0,
        streams=streams,
    )


def broken(seen: Noticed, **more: Any) -> str:
    judged = row(seen, **more)
    judge(judged, seen)
    return " ".join(judged.broken)


def test_what_nobody_notices_is_no_harm() -> None:
    assert broken(noticed()) == ""
    assert broken(noticed(page=0.5, frame=0.8, health=0.5)) == ""


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"page": 0.51}, "page p99"),
        ({"frame": 0.81}, "frame p99"),
        ({"health": 0.6}, "/healthz"),
        ({"refused": 1}, "refused"),
        ({"words": 3}, "2 words"),
    ],
)
def test_what_others_notice_is_told(values: dict[str, Any], said: str) -> None:
    assert said in broken(noticed(**values))


def test_a_server_that_grows_is_told() -> None:
    assert "grew" in broken(noticed(), memory=300.0)


def test_a_machine_that_is_busy_is_not_the_servers_fault() -> None:
    seen = noticed(pages=[(0.3, 0.0), (1.5, 1.4)])
    assert row(seen).cells[4] == "1,500"
    assert broken(seen) == ""


def test_the_machine_is_taken_from_the_control_as_well() -> None:
    busy = noticed(pages=[(1.0, 0.9)])
    assert broken(noticed(pages=[(3.0, 2.9)]), control=busy) == ""
    assert broken(noticed(pages=[(3.2, 0.0)]), control=busy) == ""
    assert "page p99" in broken(noticed(pages=[(4.0, 3.4)]), control=busy)


def test_what_its_own_threads_have_is_the_servers_fault(tmp_path: Path) -> None:
    machine, fields = Machine(1), ["0"] * 50
    machine._main, machine._all = tmp_path / "schedstat", tmp_path / "stat"
    machine._mine = tmp_path / "mine"
    machine._mine.write_text("0 0 0")

    def has(waited: float, main: float, everybody: float) -> None:
        machine._main.write_text(f"{int(main * 1e9)} {int(waited * 1e9)} 1")
        fields[11] = str(int(everybody * TICK))
        machine._all.write_text(f"1 (python) {' '.join(fields)}")

    has(waited=0.0, main=0.0, everybody=0.0)
    machine.look()
    has(waited=2.0, main=1.0, everybody=2.5)
    began = machine._at[0] - 10**10
    assert machine.took(began)[1] == 0.5
    machine._mine.write_text("0 700000000 0")
    assert machine.took(began)[1] == 0.7


def test_nothing_is_shown_while_nothing_is_stored_and_the_table_says_so() -> None:
    assert broken(noticed(frame=9.0), streams=False) == ""
    assert "page p99" in broken(noticed(frame=9.0, page=0.6), streams=False)
    assert "2 words" in broken(noticed(frame=9.0, words=3), streams=False)
    _, line, note = lines([row(noticed(frame=9.0), streams=False)])
    assert "9,000*" in line
    assert note.startswith("* Nothing could be stored")


def test_a_share_of_a_hundred_is_the_largest_of_a_few() -> None:
    assert p99([]) == 0.0
    assert p99([(1.0, 0.0), (3.0, 0.0), (2.0, 0.0)]) == 3.0
    assert p99([(float(number), 0.0) for number in range(200)]) == 198.0


def test_a_table_has_a_line_for_each_and_its_faults_below() -> None:
    stopped = row(noticed())
    stopped.broken.append("it stopped")
    heading, line, fault = lines([stopped])
    assert heading.split()[0] == "attack"
    assert line.split()[:2] == ["x", "10"]
    assert fault == "  BROKEN it stopped"
