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


async def approvals(scene: Scene) -> None:
    """Every run waits for a decision, and none is taken by whoever does not know what is asked."""
    rows = scene.target.rows
    rows.query(ASK_ALL)
    runs = [str(UUID(run)) for (run,) in rows.query("SELECT id FROM agents_agentrun LIMIT 50")]
    runs += [str(uuid4()), "0", "x" * 2_000, "%2e%2e"]
    async with scene.target.client(scene.mallory) as http:

        async def act() -> None:
            place = f"/runs/{scene.rng.choice(runs)}"
            sent = {
                "verdict": scene.rng.choice(VERDICTS),
                "words": "w" * scene.rng.choice((0, 10, 50_000)),
                "digest": scene.rng.choice(("", "0" * 64, "d" * 5_000)),
                "do": [str(number) for number in range(scene.rng.choice((0, 1, 500)))],
            }
            shown = await http.get(f"{place}/approval/")
            scene.look_at(shown, await http.post(f"{place}/decide/", data=sent))

        await scene.together(act)
    if decided := rows.query(DECIDED)[0][0]:
        scene.broken.append(f"{decided} decisions were taken by a stranger")
