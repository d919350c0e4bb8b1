"""A world for the runtime's tests: one scripted model, fake tools."""

from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from agents.core.chunks import OracleStreamChunk
from agents.core.config import AgentConfig
from agents.core.ports import ChatModel, ToolRunner
from agents.models import Project
from agents.runtime import RunRequest, Runtime
from tests.agents.models.factories import ada, engine
from tests.support.scripted_model import ScriptedModel
from tests.support.tools import FakeTools, returns


class ScriptedRunFactory:
    def __init__(self, model: ScriptedModel, tools: ToolRunner | None = None) -> None:
        self.scripted = model
        self.fakes = tools or FakeTools({"look": returns("found")})

    def model(self, request: RunRequest) -> ChatModel:
        return self.scripted

    def tools(self, request: RunRequest, model: ChatModel, run_id: UUID) -> ToolRunner:
        return self.fakes

    def system_prompt(self, request: RunRequest) -> str:
        return "You are a test."


@sync_to_async
def people() -> tuple[User, Project]:
    user = ada()
    return user, engine(user)


async def asked(question: str = "What is it?", **values: object) -> RunRequest:
    """A request of a new user, in a new project."""
    user, project = await people()
    usual: dict[str, object] = {"config": AgentConfig()}
    return RunRequest(user=user, project=project, question=question, **{**usual, **values})  # type: ignore[arg-type]


async def followed(runtime: Runtime, run_id: object, after: int = 0) -> list[OracleStreamChunk]:
    return [chunk async for chunk in runtime.follow(run_id, after)]  # type: ignore[arg-type]
