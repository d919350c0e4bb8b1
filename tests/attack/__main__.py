"""`python -m tests.attack`: every attack, one line each; exits 1 if one of them got through.

Bounded in time and in numbers, on loopback only, repeatable by its seed. The attackers yield to
the others on this machine (nice): elsewhere they would have machines of their own.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

from tests.attack import (
    approvals,
    faults,
    imports,
    library,
    names,
    pages,
    programs,
    sign_ins,
    sockets,
    web,
)
from tests.attack.scene import Attack, Scene
from tests.attack.table import Row, Times, judge, lines
from tests.attack.target import PASSWORD, Somebody, Target, open_target
from tests.attack.victim import Noticed
from tests.support.guarded.sitecustomize import refuse_other_machines
from tests.support.server import ROOT
from tests.support.services import die_with_parent

ATTACKS: dict[str, tuple[Attack, int]] = {
    "markdown": (pages.markdown, 30),
    "reloads": (pages.reloads, 16),
    "usage": (pages.usage, 3),
    "scripts": (pages.scripts, 3),
    "sign-in names": (sign_ins.sign_in_names, 50),
    "sign-in addresses": (sign_ins.sign_in_addresses, 50),
    "acks": (sockets.acks, 5),
    "floods": (sockets.floods, 5),
    "sockets": (sockets.comings, 20),
    "slow readers": (sockets.slow_readers, 30),
    "bodies": (pages.bodies, 8),
    "parameters": (pages.parameters, 10),
    "rules": (pages.rules, 10),
    "behaviours": (pages.behaviours, 10),
    "notifications": (pages.notifications, 10),
    "rules API": (programs.rules, 10),
    "behaviours API": (programs.behaviours, 10),
    "notifications API": (programs.notifications, 10),
    "reminders API": (programs.reminders, 10),
    "approvals": (approvals.approvals, 10),
    "approvals API": (programs.approvals, 10),
    "ways": (pages.ways, 10),
    **{name: (library.open_pages(name), 6) for name in library.SHELVES},
    "code": (imports.code, 1),
    "web pages": (web.web, 3),
    "slow names": (names.slow_names, 5),
    "clock": (faults.clock, 1),
    "full disk": (faults.full_disk, 1),
    "locked": (faults.locked, 1),
}
"""By name: how it is played, and how many do it at once."""
_numbers = count(1)
UNSTORED = {"full disk", "locked"}
"""While these last nothing is stored, so nothing new is shown."""


class Victim:
    """The other person's process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    async def live(self, seconds: float) -> Noticed:
        return await asyncio.to_thread(self._live, seconds)

    def _live(self, seconds: float) -> Noticed:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"seconds": seconds}) + "\n")
        self._process.stdin.flush()
        return Noticed(**json.loads(self._process.stdout.readline()))


@contextmanager
def open_victim(target: Target) -> Iterator[Victim]:
    ada = target.person("ada")
    with subprocess.Popen(
        [
            sys.executable,
            *("-m", "tests.attack.victim"),
            json.dumps(ada.as_dict()),
            str(target.pid),
        ],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent,
    ) as process:
        yield Victim(process)


@dataclass(frozen=True)
class Account:
    """What a server has used and lost so far."""

    cpu: float
    memory: float
    lost: int
    log: str

    @classmethod
    def of(cls, target: Target) -> "Account":
        return cls(target.cpu(), target.rss(), target.lost(), target.log())

    def harm_since(self, before: "Account") -> list[str]:
        """What must not happen, whatever the others notice."""
        lost = self.lost - before.lost
        harm = [f"{lost} runs were lost by their process"] if lost else []
        has_traceback = "Traceback" in self.log[len(before.log) :]
        return [*harm, "the log has a traceback"] if has_traceback else harm


class Play:
    """All attacks, one after the other, against one server."""

    def __init__(self, target: Target, victim: Victim, options: argparse.Namespace) -> None:
        self._target, self._victim = target, victim
        self._seconds: float = options.seconds
        self._share: float = options.crowd
        self._seed: int = options.seed
        self._shares_control: bool = options.one_control
        self._control: tuple[Noticed, float] | None = None

    async def attack(self, name: str) -> Row:
        """Play one, with the other person looking on, and say what it did to them."""
        attack, _ = ATTACKS[name]
        mallory, talk = await self._prepare(name)
        await self._target.calm()
        control, idle = await self._without()
        before = Account.of(self._target)
        scene = self._scene(name, mallory, talk)
        noticed, _ = await asyncio.gather(self._victim.live(self._seconds), attack(scene))
        after = Account.of(self._target)
        row = Row(
            name=name,
            acts=scene.acts,
            cpu=max(0.0, after.cpu - before.cpu - idle),
            times=Times.of(noticed),
            control=Times.of(control),
            own=Times.own(noticed),
            own_control=Times.own(control),
            memory=after.memory - before.memory,
            starved=max(starved for _, starved in (*noticed.pages, *noticed.frames)),
            broken=[*sorted(set(scene.broken)), *after.harm_since(before)],
            streams=name not in UNSTORED,
        )
        judge(row, noticed)
        return row

    async def _prepare(self, name: str) -> tuple[Somebody, str]:
        """Somebody new who attacks, and a conversation if it takes one."""
        mallory = await asyncio.to_thread(self._target.person, f"mallory-{next(_numbers)}")
        if name == "parameters":
            admin = {"is_staff": True, "is_superuser": True}
            await asyncio.to_thread(lambda: self._target.door("change", name=mallory.name, **admin))
        if name in library.SHELVES:
            await library.fill_shelf(name, self._target, mallory)
        return mallory, await pages.dear_talk(mallory) if name == "reloads" else ""

    def _scene(self, name: str, mallory: Somebody, talk: str) -> Scene:
        rng = random.Random(f"{self._seed} {name}")
        crowd = max(1, int(ATTACKS[name][1] * self._share))
        until = time.monotonic() + self._seconds
        return Scene(self._target, mallory, rng, until, crowd, talk)

    async def _without(self) -> tuple[Noticed, float]:
        """What the other person notices without an attack, and what that costs the server."""
        if self._control is None or not self._shares_control:
            before = self._target.cpu()
            noticed = await self._victim.live(self._seconds)
            self._control = noticed, self._target.cpu() - before
        return self._control


async def play(names: list[str], options: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    with open_target() as target, open_victim(target) as victim:
        target.person("honest", password=PASSWORD)
        os.nice(15)
        playing = Play(target, victim, options)
        await victim.live(0.5)  # the first of everything is slower
        for name in names:
            rows.append(await playing.attack(name))
            print(lines(rows[-1:])[1], *lines(rows[-1:])[2:], sep="\n", file=sys.stderr, flush=True)
        if options.log:
            print(target.log()[-6000:], file=sys.stderr)
    return rows


def main() -> int:
    options = _options()
    names = options.only or list(ATTACKS)
    if unknown := set(names) - set(ATTACKS):
        print(f"no such attack: {', '.join(sorted(unknown))}; known: {', '.join(ATTACKS)}")
        return 2
    refuse_other_machines()
    rows = asyncio.run(play(names, options))
    if options.json:
        print(json.dumps([row.as_dict() for row in rows]))
    else:
        print("\n".join(lines(rows)))
    return 1 if any(row.broken for row in rows) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of everything that is random")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these attacks")
    parser.add_argument("--seconds", type=float, default=6.0, help="that each attack lasts")
    parser.add_argument("--crowd", type=float, default=1.0, help="share of those who attack")
    parser.add_argument("--one-control", action="store_true", help="one control for all attacks")
    parser.add_argument("--json", action="store_true", help="rows for programs")
    parser.add_argument("--log", action="store_true", help="show the server's log at the end")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
