"""People, projects and processes that the tests of rows share."""

import socket
from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import User
from django.db.models.functions import Now

from agents.audit import signing
from agents.models import AgentRun, Membership, ProcessLease, Project

NO_SUCH_PID = 2**31 - 1


def ada() -> User:
    """A user with nothing set."""
    return User.objects.create_user("ada")


def engine(owner: User) -> Project:
    """A project that somebody owns."""
    project = Project.objects.create(name="engine")
    Membership.objects.create(project=project, user=owner, role=Membership.Role.OWNER)
    return project


def run_of(user: User, project: Project, **values: object) -> AgentRun:
    """A run that has just begun."""
    usual: dict[str, object] = {
        "question": "What is it?",
        "tree": "default",
        "model": "offline",
        "config": {},
    }
    run = AgentRun(user=user, project=project, **{**usual, **values})
    signing.sign_start(run)
    run.save(force_insert=True)
    return run


def process(host: str = "elsewhere", pid: int = 1) -> str:
    """A process that has just renewed its lease; its id."""
    return ProcessLease.objects.create(
        pk=f"{host}:{pid}:x", host=host, pid=pid, renewed_at=Now()
    ).pk


def silent_process() -> str:
    """One of another host that has not been heard of for long."""
    lease = process("silent")
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    ProcessLease.objects.filter(pk=lease).update(renewed_at=long_ago)
    return lease


def dead_process() -> str:
    """One of this host that has ended."""
    return process(socket.gethostname(), NO_SUCH_PID)
