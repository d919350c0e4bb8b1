"""Programs of one person, with a token for each of many, at the addresses of rules, behaviours,
notifications and reminders."""

import asyncio
import re
from typing import Any

import httpx

from tests.attack.approvals import VERDICTS, ask_all, count_decided
from tests.attack.scene import Scene

TOKENS = 5
"""Each has a rate of its own; what is dear is counted for the person."""
SCOPES = ("ask", "read", "settings", "projects")
NAMES = ("0", "file:x", "x" * 2_000, "%2e%2e", "a%00b", "9" * 40, "tool-failures", "tokens")
RULE = (
    '[rule]\nid = "{}"\ntrigger = "on_turn_end"\n[condition]\nexpression = "{}"\n'
    '[[action]]\ntype = "stop"\nmessage = "x"\n'
)
DEAR = "all(a.size >= 0 for a in history.tools) and " * 9 + "true"
RULES = [
    *("", "[" * 4_000, "x" * 60_000, "\x00", RULE.format("a" * 60, "(" * 400)),
    *(RULE.format("mine", each) for each in (DEAR, "9 ** 9 ** 9", "turn.__class__")),
]
TREE = '(tree "{}" (repeater :until-success {}))'
BEHAVIOURS = [
    *("", "(" * 10_000, "x" * 60_000, "\x00", '(tree "a" ' * 900, "(tree \uff08turn\uff09)"),
    *(TREE.format("mine", each) for each in ("(turn)", "(turn) " * 600, "(subtree mine)")),
]
APPROVAL_PLACE = "oracle/runs/{}/approval"
Calls = list[tuple[str, str]]
Body = dict[str, Any]
TEXT_CALLS: Calls = [
    ("GET", ""),
    *(("POST", path) for path in ("", "/check", "/check", "/try")),
] * 8
"""What is dear, far more often than what is not there."""


async def rules(scene: Scene) -> None:
    """Texts that are no rules, or dear ones, sent to every address by programs."""
    await _play(scene, "rules", TEXT_CALLS + _each("shipped:slow-tool"), RULES)


async def behaviours(scene: Scene) -> None:
    """Texts that are no behaviours, or dear ones, sent to every address by programs."""
    await _play(scene, "behaviours", TEXT_CALLS + _each("shipped:ask-first"), BEHAVIOURS)


async def notifications(scene: Scene) -> None:
    """Switches and previews of notifications that there are, and that there are not."""
    calls: Calls = [("GET", "")] * 20 + _each("self-notes")
    calls += [("POST", f"/{name}/preview") for name in NAMES]
    await _play(scene, "notifications", calls, ["", "x" * 60_000])


async def reminders(scene: Scene) -> None:
    """Reminders of nobody, deleted by number, and the switch, again and again."""
    calls: Calls = [("GET", ""), ("PATCH", "")] * 20 + _each("1")
    await _play(scene, "reminders", calls, ["", "x" * 60_000])


async def approvals(scene: Scene) -> None:
    """Decisions by programs about runs of anybody; and the modes, again and again."""
    asked = [APPROVAL_PLACE.format(run) for run in ask_all(scene)]
    calls: Calls = [(verb, place) for verb in ("GET", "POST", "POST") for place in asked]
    await _play(scene, "", [*calls, *[("GET", "modes")] * 20], [])
    count_decided(scene)


def _each(known: str) -> Calls:
    verbs = ("GET", "PUT", "PATCH", "DELETE")
    return [(verb, f"/{name}") for verb in verbs for name in (known, *NAMES)]


async def _play(scene: Scene, kind: str, calls: Calls, texts: list[str]) -> None:
    async with scene.target.client(scene.mallory) as pages, scene.target.client() as http:
        tokens, making = list[str](), asyncio.Lock()

        async def act() -> None:
            async with making:
                if len(tokens) < TOKENS:
                    tokens.append(await _make_token(pages, len(tokens)))
            method, path = scene.rng.choice(calls)
            answer = await http.request(
                method,
                f"/api/{kind}{path}",
                json=None
                if method in ("GET", "DELETE")
                else _make_body(scene, method, path, texts),
                headers={"Authorization": f"Bearer {scene.rng.choice(tokens)}"},
            )
            if answer.status_code >= 500:
                scene.broken.append(f"{method} {answer.url} is answered with {answer.status_code}")

        await scene.together(act)


def _make_body(scene: Scene, method: str, path: str, texts: list[str]) -> Body:
    """What the address takes, mostly; else what it does not."""
    if not texts:
        return _make_decision(scene)
    text: Body = {"text": scene.rng.choice(texts)}
    some: dict[str, list[Body]] = {
        "PUT": [{**text, "version": 1}],
        "PATCH": [{"mode": "off"}, {"enabled": False}],
        "/try": [{**text, "run": scene.mallory.talk}, {**text, "days": 30}],
    }
    if scene.rng.random() < 0.2:
        return {"x": [[]] * 5_000}
    return scene.rng.choice(some.get(path) or some.get(method) or [text])


def _make_decision(scene: Scene) -> Body:
    words, digest = "w" * scene.rng.choice((0, 10, 50_000)), scene.rng.choice(("", "0" * 64))
    one: Body = {"decision": scene.rng.choice(VERDICTS), "words": words}
    calls = {str(number): one for number in range(scene.rng.choice((0, 1, 500)))}
    return {**one, "digest": digest, "calls": calls}


async def _make_token(pages: httpx.AsyncClient, number: int) -> str:
    sent = {"name": f"Program {number}", "scopes": list(SCOPES)}
    answer = await pages.post("/settings/tokens/", data=sent)
    found = re.search(r'id="token"[^>]*value="([^"]+)"', answer.text)
    assert found is not None, answer.text[-2_000:]
    return found[1]
