"""Runs played through the real loop and stored by the ledger, without a server."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User

from agents import ledger
from agents.core.chunks import OracleStreamChunk
from agents.core.config import AgentConfig
from agents.core.decisions import build_tree
from agents.core.run_record import RunRecord
from agents.models import AgentRun, Project
from agents.runtime.endings import final_values
from tests.agents.core.recorded_runs import chunks_of
from tests.agents.models.factories import ada, engine, run_of
from tests.support.script import call, say
from tests.support.scripted_model import ModelStep

FIVE_TURNS = [*[call("look", page=n) for n in range(4)], say("So.")]
STUCK = [*[call("same")] * 3, say("Stuck.")]


def people() -> tuple[User, Project]:
    """Ada and her project, made once."""
    user = User.objects.filter(username="ada").first() or ada()
    return user, Project.objects.filter(name="engine").first() or engine(user)


def stored(
    steps: Sequence[ModelStep], config: AgentConfig | None = None, tree: str = "default", **how: Any
) -> AgentRun:
    """A run that really was, as rows."""
    config = config or AgentConfig()
    in_force = config.restrict_to(build_tree(tree, config).get_config())
    return kept(chunks_of(steps, config, tree=tree, **how), config=in_force.model_dump(), tree=tree)


def kept(
    chunks: Sequence[OracleStreamChunk], *, but: Sequence[OracleStreamChunk] = (), **values: Any
) -> AgentRun:
    """Chunks as a run's rows, with those of `but` lost."""
    user, project = people()
    run = run_of(user, project, **{"config": AgentConfig().model_dump(), **values})
    record = RunRecord()
    for chunk in chunks:
        record.add(chunk)
    final = final_values(record) if record.done is not None else None
    written = [chunk for chunk in chunks if chunk not in but]
    ledger.write([ledger.Commit(ledger.Claim(run.pk, run.fence), written, final)])
    run.refresh_from_db()
    return run
