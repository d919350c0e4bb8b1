"""Ways into the runtime of a server process, without signing in. For tests only.

They do what pages do and nothing else: start a run, follow one by its cursor, cancel one.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt

from agents.approvals import ApprovalError, ApprovalVerdict, load_approval, record_verdict
from agents.core.chunks import to_dict
from agents.core.config import AgentConfig
from agents.models import AgentRun, ApprovalState, Project
from agents.runtime import RunRefused, RunRequest, get_runtime


@csrf_exempt
async def start(request: HttpRequest) -> JsonResponse:
    """{user, question, config?, conversation_key?, client_message_id?} to {run} or {refused}."""
    asked = json.loads(request.body)
    key = asked.get("conversation_key")
    wanted = RunRequest(
        user=await User.objects.aget(username=asked["user"]),
        project=await Project.objects.aget(),
        question=asked["question"],
        config=AgentConfig.build(asked.get("config", {})),
        conversation_key=UUID(key) if key else None,
        client_message_id=asked.get("client_message_id"),
    )
    try:
        run = await get_runtime().start(wanted)
    except RunRefused as refusal:
        return JsonResponse({"refused": str(refusal)})
    return JsonResponse({"run": str(run.pk)})


async def follow(request: HttpRequest) -> StreamingHttpResponse:
    """?run=&after= to one chunk per line, as they come."""
    lines = _lines(UUID(request.GET["run"]), int(request.GET.get("after", "0")))
    return StreamingHttpResponse(lines, content_type="application/x-ndjson")


async def _lines(run_id: UUID, after: int) -> AsyncIterator[str]:
    async with aclosing(get_runtime().follow(run_id, after)) as chunks:
        async for chunk in chunks:
            yield json.dumps(to_dict(chunk)) + "\n"
            await asyncio.sleep(0)  # daphne takes a line without ever yielding


@csrf_exempt
async def decide(request: HttpRequest) -> JsonResponse:
    """{user, run, question} to {run}, the one that does what was approved, or {refused}."""
    asked = json.loads(request.body)
    user = await User.objects.aget(username=asked["user"])
    pending = await sync_to_async(load_approval)(UUID(asked["run"]))
    if pending is None:
        return JsonResponse({"refused": "nothing was asked"})
    verdict = ApprovalVerdict(verdict=ApprovalState.APPROVED, digest=pending.row.digest)
    wanted = RunRequest(
        user=user,
        project=await Project.objects.aget(),
        question=asked["question"],
        config=AgentConfig(),
        continued_from=pending.row.run_id,
    )

    def attach(run: AgentRun) -> None:
        record_verdict(pending, verdict, by=user, via="api", run=run)

    try:
        run = await get_runtime().start(wanted, attach)
    except (RunRefused, ApprovalError) as refusal:
        return JsonResponse({"refused": str(refusal)})
    return JsonResponse({"run": str(run.pk)})


@csrf_exempt
async def cancel(request: HttpRequest) -> JsonResponse:
    """{run} to {asked}: whether there was anything to cancel."""
    asked = await get_runtime().cancel(UUID(json.loads(request.body)["run"]))
    return JsonResponse({"asked": asked})


async def linger(request: HttpRequest) -> JsonResponse:
    """A request that does not end by itself."""
    await asyncio.Event().wait()
    return JsonResponse({})
