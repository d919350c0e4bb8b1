"""Rules: listed, read, written, switched, checked, and tried on one's own runs."""

import asyncio
from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from agents.core.control.toml import InvalidToml
from agents.models.api_tokens import Scope
from agents.own_rule_trials import try_on_own_runs
from agents.rule_firings import FIRING_DAYS, RuleFirings, find_firings
from agents.rule_listing import ListedRule, get_rule, list_rules_for
from agents.rule_service import (
    change_rule,
    check_rule,
    create_rule,
    delete_rule,
    switch_rule,
)
from agents.web.throttling import check_rate
from agents.web.trial_report import TrialReport
from chat.api.framework import ApiRequest, endpoint, json_response
from chat.api.rule_schemas import (
    NewRule,
    RuleAttempt,
    RuleChange,
    RuleCheck,
    RuleDetail,
    RuleFiringsView,
    RuleList,
    RuleProblems,
    RuleSwitch,
    RuleTrialView,
    RuleView,
    TriedFiring,
    TriedRun,
)
from chat.api.runtime import run_db
from chat.api.stored_texts import list_problems, require_level, require_writable
from chat.api.throttling import Rate

RULES_PATH = "rules"
RULE_PATH = f"{RULES_PATH}/<str:rule_id>"


@endpoint(
    "GET",
    RULES_PATH,
    "The rules that can apply to your runs",
    scopes=[Scope.SETTINGS],
    answers=RuleList,
)
async def list_rules(request: ApiRequest) -> RuleList:
    found = await run_db(lambda: list_rules_for(request.user))
    return RuleList(rules=[_serialize(listed) for listed in found])


@endpoint(
    "POST",
    RULES_PATH,
    "Store a rule for yourself, one of your projects, or the site",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    takes=NewRule,
    answers={201: RuleView},
    errors=(404, 409),
)
async def add_rule(request: ApiRequest, body: NewRule) -> HttpResponseBase:
    """It is on unless its text says otherwise, and holds for runs that begin from now on.

    One for others, of a project or the site, needs the scope `projects` too.
    """

    require_level(request, body.level)

    def create() -> RuleView:
        row = create_rule(request.user, body.text, level=body.level, project_id=body.project)
        return _serialize(get_rule(request.user, str(row.pk)))

    return json_response(await run_db(create), 201)


@endpoint(
    "POST",
    f"{RULES_PATH}/check",
    "What is wrong with a rule's text, by line and column",
    scopes=[Scope.SETTINGS],
    takes=RuleCheck,
    answers=RuleProblems,
)
async def find_rule_problems(request: ApiRequest, body: RuleCheck) -> RuleProblems:
    def check() -> RuleProblems:
        check_rate(request.user, "check")
        try:
            check_rule(body.text)
        except InvalidToml as error:
            return RuleProblems(problems=list_problems(error))
        return RuleProblems(problems=[])

    return await asyncio.to_thread(check)  # the worst text takes a tenth of a second


@endpoint(
    "POST",
    f"{RULES_PATH}/try",
    "What a rule would have done in your runs of the last days",
    scopes=[Scope.READ],
    rate=Rate.CHANGE,
    takes=RuleAttempt,
    answers=RuleTrialView,
    errors=(409,),
)
async def try_rule(request: ApiRequest, body: RuleAttempt) -> RuleTrialView:
    """Nothing is stored, and no model is asked. The newest 1,000 runs are tried."""

    def attempt() -> TrialReport:
        return try_on_own_runs(request.user, check_rule(body.text), body.days).report

    return _serialize_trial(await run_db(attempt))


@endpoint("GET", RULE_PATH, "One rule", scopes=[Scope.SETTINGS], answers=RuleDetail)
async def show_rule(request: ApiRequest, rule_id: str) -> RuleDetail:
    def load() -> RuleDetail:
        listed = get_rule(request.user, rule_id)
        firings = find_firings(request.user).get(listed.firing_key, RuleFirings())
        told = RuleFiringsView(
            days=FIRING_DAYS,
            count=firings.count,
            shadow=firings.shadow,
            runs=list(firings.runs),
        )
        return RuleDetail(**_serialize(listed).model_dump(), firings=told)

    return await run_db(load)


@endpoint(
    "PUT",
    RULE_PATH,
    "Change the text of a stored rule",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    takes=RuleChange,
    answers=RuleView,
    errors=(409,),
)
async def replace_rule(request: ApiRequest, rule_id: str, body: RuleChange) -> RuleView:
    """409: it was changed since that version (`ctx` has the text in force), or is not a rule."""

    def change() -> RuleView:
        listed = require_writable(request, get_rule(request.user, rule_id))
        change_rule(request.user, listed, body.text, body.version)
        return _serialize(get_rule(request.user, rule_id))

    return await run_db(change)


@endpoint(
    "PATCH",
    RULE_PATH,
    "Switch a rule on, off or to shadow",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    takes=RuleSwitch,
    answers=RuleView,
)
async def set_rule_mode(request: ApiRequest, rule_id: str, body: RuleSwitch) -> RuleView:
    """403: `lock` of the rule says why you cannot."""

    def switch() -> RuleView:
        return _serialize(
            switch_rule(
                request.user, require_writable(request, get_rule(request.user, rule_id)), body.mode
            )
        )

    return await run_db(switch)


@endpoint(
    "DELETE",
    RULE_PATH,
    "Delete a stored rule",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    answers={204: None},
)
async def remove_rule(request: ApiRequest, rule_id: str) -> HttpResponseBase:
    await run_db(
        lambda: delete_rule(
            request.user, require_writable(request, get_rule(request.user, rule_id))
        )
    )
    return HttpResponse(status=204)


def _serialize(listed: ListedRule) -> RuleView:
    rule, row = listed.rule, listed.row
    return RuleView(
        id=listed.id,
        name=listed.name,
        title=listed.title,
        description=rule.description if rule else "",
        level=listed.level,
        project_id=row.project_id if row else None,
        mode=listed.mode,
        trigger=rule.trigger if rule else "",
        events=list(rule.events) if rule else [],
        text=listed.text,
        version=row.version if row else None,
        changed_at=row.changed_at if row else None,
        lock=listed.lock,
        note=listed.note,
        can_edit=listed.can_edit,
    )


def _serialize_trial(report: TrialReport) -> RuleTrialView:
    found = report.summary
    listed = [
        TriedRun(
            id=UUID(run.id),
            outcome=run.outcome,
            firings=[TriedFiring(turn=turn, words=words) for turn, words in run.firings],
            ends_early=run.ends_early,
            was_cut=run.was_cut,
        )
        for run in report.fired
    ]
    return RuleTrialView(
        runs=found.runs,
        fired=found.fired,
        firings=found.firings,
        stopped=found.stopped,
        cut=found.cut,
        failed=found.failed,
        why_not=dict(report.why_not),
        unknown=dict(report.unknown),
        listed=listed,
    )
