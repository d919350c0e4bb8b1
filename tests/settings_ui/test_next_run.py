"""Through the real loop: the next run has the new limits, one that is going on keeps its own."""

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from agents.models import UserAgentConfig
from agents.runtime import Runtime
from agents.settings_service import update_limits
from chat.services import ask
from chat.services.ask import PreparedRun
from tests.agents.runtime.fake_factory import ScriptedRunFactory, followed, people
from tests.settings_ui.input_cases import browser
from tests.support.script import call, say
from tests.support.scripted_model import ScriptedModel
from tests.support.tools import FakeTools

pytestmark = pytest.mark.django_db(transaction=True)


def save(user: User, value: int) -> str:
    """As the page does it."""
    address, given = "/settings/limits/max_iterations/", {"value": str(value)}
    response = browser(user).post(address, given, secure=True, headers={"HX-Request": "true"})
    return f"{response.status_code}"


async def test_the_next_run_uses_the_new_value_and_a_run_in_progress_keeps_its_snapshot() -> None:
    user, project = await people()
    await sync_to_async(update_limits)(user, {"max_iterations": 3})
    saved: list[str] = []

    async def lower() -> str:
        saved.append(await sync_to_async(save)(user, 2))
        return "lowered"

    model = ScriptedModel(
        [
            *(call("lower"), call("look"), say("Three turns.")),
            *(call("look"), say("Two turns.")),
        ]
    )
    tools = FakeTools({"lower": lower, "look": lambda: "found"})
    async with Runtime(ScriptedRunFactory(model, tools)) as runtime:

        async def asked(question: str) -> tuple[str, int, int]:
            ready: PreparedRun = await sync_to_async(ask.start_conversation)(
                user, project.pk, question
            )
            run = await runtime.start(ready.request, ready.attach)
            await followed(runtime, run.pk)
            await run.arefresh_from_db()
            return run.reason, run.turns, run.config["max_iterations"]

        assert await asked("First?") == ("max_iterations", 3, 3)
        assert saved == ["200"]
        assert (await UserAgentConfig.objects.aget(user=user)).max_iterations == 2
        assert await asked("Second?") == ("max_iterations", 2, 2)
    model.assert_done()
