"""Modes that can be chosen; behaviours: listed, read, written, checked and deleted."""

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from agents.behaviour_service import (
    ListedBehaviour,
    change_behaviour,
    check_behaviour,
    create_behaviour,
    delete_behaviour,
    get_behaviour,
    list_behaviours_for,
)
from agents.behaviour_trials import BehaviourTrial, TrialRefused, try_on_run
from agents.core.behaviours import InvalidBehaviour
from agents.core.behaviours.drawing import draw_behaviour
from agents.models import UserAgentConfig
from agents.models.api_tokens import Scope
from agents.runtime import Mode, list_modes
from agents.web.throttling import check_rate
from chat.api.behaviour_schemas import (
    BehaviourAttempt,
    BehaviourChange,
    BehaviourCheck,
    BehaviourList,
    BehaviourProblems,
    BehaviourTrialView,
    BehaviourView,
    ModeList,
    ModeView,
    NewBehaviour,
)
from chat.api.errors import api_error
from chat.api.framework import ApiRequest, endpoint, json_response
from chat.api.runtime import run_db
from chat.api.stored_texts import list_problems, require_level, require_writable
from chat.api.throttling import Rate

BEHAVIOURS_PATH = "behaviours"
BEHAVIOUR_PATH = f"{BEHAVIOURS_PATH}/<str:behaviour_id>"


@endpoint(
    "GET",
    "modes",
    "The modes you can choose for a question",
    scopes=[Scope.ASK],
    answers=ModeList,
)
async def show_modes(request: ApiRequest) -> ModeList:
    def load() -> ModeList:
        chosen = UserAgentConfig.for_user(request.user).tree
        modes = list_modes(request.user)
        return ModeList(modes=[_serialize_mode(mode, chosen) for mode in modes])

    return await run_db(load)


@endpoint(
    "GET",
    BEHAVIOURS_PATH,
    "The behaviours you can see: shipped, the site's, your own",
    scopes=[Scope.SETTINGS],
    answers=BehaviourList,
)
async def list_behaviours(request: ApiRequest) -> BehaviourList:
    found = await run_db(lambda: list_behaviours_for(request.user))
    return BehaviourList(behaviours=[_serialize(listed) for listed in found])


@endpoint(
    "POST",
    BEHAVIOURS_PATH,
    "Store a behaviour for yourself or the site",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    takes=NewBehaviour,
    answers={201: BehaviourView},
    errors=(409,),
)
async def add_behaviour(request: ApiRequest, body: NewBehaviour) -> HttpResponseBase:
    """It is a mode from the next question on. One for the site needs the scope `projects` too."""
    require_level(request, body.level)

    def create() -> BehaviourView:
        row = create_behaviour(request.user, body.text, level=body.level)
        return _serialize(get_behaviour(request.user, str(row.pk)))

    return json_response(await run_db(create), 201)


@endpoint(
    "POST",
    f"{BEHAVIOURS_PATH}/check",
    "What is wrong with a behaviour's text, by line and column, or its drawing",
    scopes=[Scope.SETTINGS],
    takes=BehaviourCheck,
    answers=BehaviourProblems,
)
async def find_behaviour_problems(request: ApiRequest, body: BehaviourCheck) -> BehaviourProblems:
    def check() -> BehaviourProblems:
        check_rate(request.user, "check")
        try:
            found = check_behaviour(request.user, body.text)
        except InvalidBehaviour as error:
            return BehaviourProblems(problems=list_problems(error), drawing=[])
        return BehaviourProblems(problems=[], drawing=list(draw_behaviour(found)))

    return await run_db(check)


@endpoint(
    "POST",
    f"{BEHAVIOURS_PATH}/try",
    "What a behaviour would have done in one of your runs, as far as is known",
    scopes=[Scope.READ],
    rate=Rate.CHANGE,
    takes=BehaviourAttempt,
    answers=BehaviourTrialView,
    errors=(404, 409),
)
async def try_behaviour(request: ApiRequest, body: BehaviourAttempt) -> BehaviourTrialView:
    """Nothing is stored, and no model is asked."""

    def attempt() -> BehaviourTrial:
        tried = check_behaviour(request.user, body.text)
        return try_on_run(request.user, tried, str(body.run))

    try:
        found = await run_db(attempt)
    except TrialRefused as refused:
        raise api_error(404, ("body", "run"), str(refused), "not_found") from None
    return BehaviourTrialView(
        sentence=found.sentence,
        detail=found.detail,
        verdict=found.verdict,
        ways=[way.path for way in found.trace.ways],
    )


@endpoint("GET", BEHAVIOUR_PATH, "One behaviour", scopes=[Scope.SETTINGS], answers=BehaviourView)
async def show_behaviour(request: ApiRequest, behaviour_id: str) -> BehaviourView:
    return await run_db(lambda: _serialize(get_behaviour(request.user, behaviour_id)))


@endpoint(
    "PUT",
    BEHAVIOUR_PATH,
    "Change the text of a stored behaviour",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    takes=BehaviourChange,
    answers=BehaviourView,
    errors=(409,),
)
async def replace_behaviour(
    request: ApiRequest, behaviour_id: str, body: BehaviourChange
) -> BehaviourView:
    """409: it was changed since that version (`ctx` has the text in force), or is no behaviour."""

    def change() -> BehaviourView:
        listed = require_writable(request, get_behaviour(request.user, behaviour_id))
        change_behaviour(request.user, listed, body.text, body.version)
        return _serialize(get_behaviour(request.user, behaviour_id))

    return await run_db(change)


@endpoint(
    "DELETE",
    BEHAVIOUR_PATH,
    "Delete a stored behaviour",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    answers={204: None},
)
async def remove_behaviour(request: ApiRequest, behaviour_id: str) -> HttpResponseBase:
    """Runs keep the text that they began with."""
    await run_db(
        lambda: delete_behaviour(
            request.user, require_writable(request, get_behaviour(request.user, behaviour_id))
        )
    )
    return HttpResponse(status=204)


def _serialize_mode(mode: Mode, chosen: str) -> ModeView:
    return ModeView(
        name=mode.name,
        description=mode.description,
        level=mode.level,
        tree=mode.tree,
        behaviour=mode.behaviour.name if mode.behaviour else "",
        is_default=mode.name == chosen,
    )


def _serialize(listed: ListedBehaviour) -> BehaviourView:
    row = listed.row
    return BehaviourView(
        id=listed.id,
        name=listed.name,
        description=listed.description,
        level=listed.level,
        text=listed.text,
        version=row.version if row else None,
        changed_at=row.changed_at if row else None,
        problem=str(listed.problems[0]) if listed.problems else "",
        lock=listed.lock,
    )
