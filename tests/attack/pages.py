"""Answers and requests that are dear to the server, or impossible."""

import asyncio
import re
from contextlib import AsyncExitStack, suppress
from uuid import UUID, uuid4

import httpx

from tests.attack.model import SHAPES, Say
from tests.attack.scene import BEGUN, ENDED, GONE, Scene, asks, says
from tests.attack.target import PATIENCE, Somebody
from tests.support.dom import GROWN, Element, Malformed, frame_problems, read
from tests.support.hostile import FOLDER, OURS

DEAR = 190_000
"""Characters of an answer that is dear to show."""
NEVER_TO_BE_SENT = frozenset({"script", "style", "iframe", "img", "object", "embed", "link"})
"""Elements that no answer has."""
RULE_PLACES = (
    *(f"/settings/rules/{end}" for end in ("new/", "check/", "try/")),
    *(f"/settings/rules/{{}}/{end}" for end in ("", "switch/", "delete/")),
)
BEHAVIOUR_PLACES = (
    *(f"/settings/behaviours/{end}" for end in ("new/", "check/", "try/")),
    *(f"/settings/behaviours/{{}}/{end}" for end in ("", "delete/")),
)
NOTIFICATION_PLACES = (
    "/settings/notifications/{}/switch/",
    "/settings/reminders/",
    "/settings/reminders/{}/delete/",
)
WAY_PLACES = ("/runs/{}/behaviour/", "/runs/{}/rules/", "/modes/", "/p/{}/asking/")
LIST_PLACES = ("/settings/rules/", "/settings/behaviours/", "/settings/notifications/")


# -- dear pages -----------------------------------------------------------------------------------


async def markdown(scene: Scene) -> None:
    """Answers that are dear to show, with many tabs open on each, until it ends or has begun."""
    shapes = scene.rng.sample(sorted(SHAPES), len(SHAPES))
    while scene.is_on:
        until = scene.rng.choice((BEGUN, ENDED))
        await _dear_answer(scene, shapes[scene.acts % len(shapes)], until)
        scene.acts += 1


async def _dear_answer(scene: Scene, shape: str, until: re.Pattern[str]) -> None:
    key = str(uuid4())
    async with AsyncExitStack() as tabs:
        with suppress(*GONE):
            opened = [
                await tabs.enter_async_context(scene.mallory.connect(key))
                for _ in range(scene.crowd)
            ]
            for tab in opened:
                await says(tab, "resume", head="", live=[])
            await asks(opened[0], Say(shape=shape, size=DEAR, delay=0.005))
            async with asyncio.timeout(scene.left):
                async for frame in opened[0]:
                    if until.search(str(frame)):
                        break


async def dear_talk(mallory: Somebody) -> str:
    """A conversation with an answer that is dear to show."""
    key = str(uuid4())
    async with asyncio.timeout(PATIENCE), mallory.connect(key) as tab:
        await says(tab, "resume", head="", live=[])
        await asks(tab, Say(shape="brackets", size=DEAR))
        async for frame in tab:
            if ENDED.search(str(frame)):
                break
    return key


async def reloads(scene: Scene) -> None:
    """One dear conversation, reloaded by many at once."""
    async with scene.target.client(scene.mallory) as http:
        await scene.together(lambda: _get(http, f"/c/{scene.talk}/"))


async def parameters(scene: Scene) -> None:
    """More query parameters than anybody needs, on pages that filter."""
    query = "&".join(f"a{number}=1" for number in range(1_100))
    paths = ["/admin/agents/agentrun/", "/conversations/", "/search/", "/runs/"]
    async with scene.target.client(scene.mallory) as http:

        async def act() -> None:
            status = (await http.get(f"{scene.rng.choice(paths)}?{query}")).status_code
            if status >= 500:
                scene.broken.append(f"1,100 parameters are answered with {status}")

        await scene.together(act)


async def bodies(scene: Scene) -> None:
    """Bodies far larger than anything that is asked for."""
    async with scene.target.client(scene.mallory) as http:
        large = b"x" * (2 * 1024 * 1024)

        async def act() -> None:
            path = scene.rng.choice(["/sign-in/", "/password/", "/api/oracle", "/settings/"])
            await http.post(path, content=large)

        await scene.together(act, most=8)


async def rules(scene: Scene) -> None:
    """Texts that are no rules, or dear ones, checked, tried and stored by many at once."""
    rule = '[rule]\nid = "{}"\ntrigger = "on_turn_end"\n[condition]\nexpression = "{}"\n'
    rule += '[[action]]\ntype = "stop"\nmessage = "x"\n'
    dear = "all(a.size >= 0 for a in history.tools) and " * 9 + "true"
    texts = ["", "[" * 4_000, "x" * 100_000, "\x00", rule.format("a" * 60, "(" * 400)]
    texts += [rule.format("mine", each) for each in (dear, "9 ** 9 ** 9", "turn.__class__")]
    names = ["shipped:slow-tool", "0", "file:x", "x" * 2_000, "%2e%2e", "a%00b", "9" * 40]
    async with scene.target.client(scene.mallory) as http:

        async def act() -> None:
            text, name = scene.rng.choice(texts), scene.rng.choice(names)
            sent = {"text": text, "days": "30", "version": "1", "mode": "off"}
            place = scene.rng.choice(RULE_PLACES).format(name)
            scene.look_at(await http.post(place, data=sent), await http.get(LIST_PLACES[0]))

        await scene.together(act)


async def behaviours(scene: Scene) -> None:
    """Texts that are no behaviours, or dear ones, checked, tried and stored by many at once."""
    tree = '(tree "{}" (repeater :until-success {}))'
    texts = ["", "(" * 10_000, "x" * 100_000, "\x00", '(tree "a" ' * 900, "(tree \uff08turn\uff09)"]
    texts += [tree.format("mine", each) for each in ("(turn)", "(turn) " * 600, "(subtree mine)")]
    texts += [tree.format("a" * 60, '(condition "' + "(" * 400 + '")')]
    names = ["shipped:ask-first", "0", "file:x", "x" * 2_000, "%2e%2e", "a%00b", "9" * 40]
    async with scene.target.client(scene.mallory) as http:

        async def act() -> None:
            text, name = scene.rng.choice(texts), scene.rng.choice(names)
            known = scene.rng.choice(("", name))
            sent = {"text": text, "run": name, "version": "1", "behaviour": known}
            place = scene.rng.choice(BEHAVIOUR_PLACES).format(name)
            shown = await http.get(
                scene.rng.choice((LIST_PLACES[1], f"/settings/behaviours/new/?copy={name}"))
            )
            scene.look_at(await http.post(place, data=sent), shown)

        await scene.together(act)


async def notifications(scene: Scene) -> None:
    """The page that looks for who spoke last, by many at once, and switches that there are not."""
    names = ["tool-failures", "tokens", "nothing", "x" * 2_000, "%2e%2e", "a%00b", "1", "9" * 40]
    async with scene.target.client(scene.mallory) as http:

        async def act() -> None:
            place = scene.rng.choice(NOTIFICATION_PLACES).format(scene.rng.choice(names))
            shown = await http.get(LIST_PLACES[2])
            switched = await http.post(place, data={"on": scene.rng.choice("01")})
            scene.look_at(shown, switched)

        await scene.together(act)


async def ways(scene: Scene) -> None:
    """What drove runs of anybody, and what rules did in them; modes and settings of nobody's."""
    rows = scene.target.rows.query("SELECT id FROM agents_agentrun LIMIT 50")
    names = [str(UUID(run)) for (run,) in rows]
    names += [str(uuid4()), scene.mallory.project, "x" * 2_000, "%2e%2e", "a%00b"]
    queries = ["", "?turn=1", "?turn=" + "9" * 500, "?tree=quick", "?tree=" + "x" * 5_000]
    async with scene.target.client(scene.mallory) as http:

        async def act() -> None:
            place = scene.rng.choice(WAY_PLACES).format(scene.rng.choice(names))
            shown = await http.get(place + scene.rng.choice(queries))
            sent = {"mode": scene.rng.choice(("always", "", "x" * 50_000))}
            scene.look_at(shown, await http.post(place, data=sent))

        await scene.together(act)


async def _get(http: httpx.AsyncClient, path: str) -> None:
    await http.get(path)


# -- impossible answers ---------------------------------------------------------------------------


async def usage(scene: Scene) -> None:
    """A model that claims to have used more tokens than a column can hold."""
    claims = [2**31, 2**63, 2**64, 10**30, -1]

    async def act() -> None:
        say = Say(text="So it is.", prompt_tokens=scene.rng.choice(claims))
        await _whole_answer(scene, say)

    await scene.together(act, most=3)


async def scripts(scene: Scene) -> None:
    """Answers that try to be more than text, in every frame that shows them."""
    payloads = list(OURS)
    if (FOLDER / "xss_alert.txt").exists():
        text = (FOLDER / "xss_alert.txt").read_text(encoding="utf-8", errors="replace")
        payloads += text.splitlines()

    async def act() -> None:
        some = "\n\n".join(scene.rng.choices(payloads, k=20))[:12_000]
        for frame in await _whole_answer(scene, Say(text=some, piece=40, delay=0.002)):
            scene.broken += [f"a frame has {what}" for what in find_faults(frame)]

    await scene.together(act, most=3)


def find_faults(frame: str) -> list[str]:
    """What no frame may have: what htmx would not do as meant, or a browser would run."""
    grown = GROWN.match(frame)
    if grown and grown[2] is None:
        return []  # text, which the page takes as such
    html = grown[3] if grown else frame
    try:
        faults = frame_problems(html) if grown is None else []
        return faults + [str(one)[:200] for one in read(html).walk() if _would_run(one)]
    except Malformed as error:
        return [f"what a browser reads otherwise: {error}"]


def _would_run(element: Element) -> bool:
    """Whether a browser would run something of it. Words in a text or an address are no harm."""
    address = "".join(element.attributes.get("href", "").split()).lower()
    return (
        element.tag in NEVER_TO_BE_SENT
        or address.startswith(("javascript:", "data:", "vbscript:"))
        or any(name.startswith("on") for name in element.attributes)
    )


async def _whole_answer(scene: Scene, say: Say) -> list[str]:
    frames: list[str] = []
    async with scene.mallory.connect() as tab:
        await says(tab, "resume", head="", live=[])
        await asks(tab, say)
        with suppress(TimeoutError):
            async with asyncio.timeout(scene.left + 1.0):
                async for frame in tab:
                    frames.append(str(frame))
                    if ENDED.search(frames[-1]) or "Too many" in frames[-1]:
                        break
    return frames
