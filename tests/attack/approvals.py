"""Decisions that nobody was asked for, about runs of others, of nobody, and of one's own."""

from uuid import UUID, uuid4

from tests.attack.scene import Scene

ASK_ALL = (
    "INSERT INTO agents_approvalrequest "
    "(run_id, asker, digest, asked_at, expires_at, verdict, words, decided_via) "
    "SELECT id, 'tool', 'secret', '2026-01-01 00:00:00', '2099-01-01 00:00:00', '', '', '' "
    "FROM agents_agentrun WHERE outcome IS NOT NULL "
    "AND id NOT IN (SELECT run_id FROM agents_approvalrequest)"
)
DECIDED = "SELECT count(*) FROM agents_approvalrequest WHERE digest = 'secret' AND verdict <> ''"
VERDICTS = ("approved", "refused", "differently", "not_decided", "", "x" * 2_000, "\x00")

PLACES = ("/runs/{}/approval/", "/runs/{}/decide/")


async def approvals(scene: Scene) -> None:
    """Every run waits for a decision, and none is taken by whoever does not know what is asked."""
    runs = ask_all(scene)
    async with scene.target.client(scene.mallory) as http:

        async def act() -> None:
            run = scene.rng.choice(runs)
            sent = {
                "verdict": scene.rng.choice(VERDICTS),
                "words": "w" * scene.rng.choice((0, 10, 50_000)),
                "digest": scene.rng.choice(("", "0" * 64, "d" * 5_000)),
                "do": [str(number) for number in range(scene.rng.choice((0, 1, 500)))],
            }
            shown, decided = (place.format(run) for place in PLACES)
            scene.look_at(await http.get(shown), await http.post(decided, data=sent))

        await scene.together(act)
    count_decided(scene)


def ask_all(scene: Scene) -> list[str]:
    """Let every run wait for a decision; some of them, and names of none."""
    rows = scene.target.rows
    rows.query(ASK_ALL)
    runs = [str(UUID(run)) for (run,) in rows.query("SELECT id FROM agents_agentrun LIMIT 50")]
    return [*runs, str(uuid4()), "0", "x" * 2_000, "%2e%2e"]


def count_decided(scene: Scene) -> None:
    if decided := scene.target.rows.query(DECIDED)[0][0]:
        scene.broken.append(f"{decided} decisions were taken by a stranger")
