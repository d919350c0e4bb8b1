"""`manage.py approve`: what a paused run asks, and the decision, in the terminal."""

import asyncio
import sys
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.core.management.base import CommandError

from agents.approvals import PendingApproval
from agents.management.lookup import find_user
from agents.management.terminal import Terminal, replace_control_characters
from agents.models import ApprovalRequest, ApprovalState
from chat.errors import ChatError
from chat.management.commands.ask import EXIT_CODES
from chat.management.commands.ask import Command as AskCommand
from chat.rendering.approval_card import build_card
from chat.services import approvals
from chat.services.ask import PreparedRun


class Command(AskCommand):
    help = "Show what a paused run asks; decide it with --yes, --no or --differently."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", help="the paused run")
        parser.add_argument("--user", help="who decides; not needed with one user or administrator")
        choice = parser.add_mutually_exclusive_group()
        choice.add_argument("--yes", action="store_true", help="do all of it")
        choice.add_argument("--no", action="store_true", help="do none of it")
        choice.add_argument("--differently", metavar="WORDS", help="say what to do instead")

    def handle(self, *args: Any, **options: Any) -> None:
        user, verdict = find_user(options["user"]), _read_verdict(options)
        try:
            pending = approvals.get_pending(user, _parse_run(options["run"]))
            if not verdict:
                self._show(pending)
                return
            asked = _decide(user, pending, verdict, options["differently"] or "")
        except ChatError as error:
            raise CommandError(str(error)) from None
        outcome = asyncio.run(self._ask(asked, Terminal(sys.stdout).show))
        sys.exit(EXIT_CODES[outcome])

    def _show(self, pending: PendingApproval) -> None:
        row = pending.row
        self.stdout.write(_clean(pending.question))
        for call in build_card(pending).calls:
            self.stdout.write(f"- {_clean(call.pending.name)}")
            for name, value in call.arguments:
                self.stdout.write(f"    {_clean(name)}: {_clean(value)}")
            if call.has_conflict:
                self.stdout.write("    It has changed since you were asked: a yes is refused.")
        if row.is_expired:
            self.stdout.write(f"Expired on {row.expires_at:%d %B %Y}, and nothing was done.")
            return
        state = row.get_verdict_display() if not row.is_open else "Waiting"
        self.stdout.write(f"{state}; it expires on {row.expires_at:%d %B %Y}.")


def _parse_run(name: str) -> UUID:
    try:
        return UUID(name)
    except ValueError:
        raise CommandError(
            f"{name!r} is not the id of a run; `manage.py runs` lists them."
        ) from None


def _decide(user: User, pending: PendingApproval, verdict: str, words: str) -> PreparedRun:
    decision = approvals.build_verdict(verdict, words, pending.row.digest)
    via = ApprovalRequest.Way.TERMINAL.value
    return approvals.decide(user, pending.row.run_id, decision, via=via)


def _read_verdict(options: dict[str, Any]) -> str:
    if options["yes"]:
        return ApprovalState.APPROVED.value
    if options["no"]:
        return ApprovalState.REFUSED.value
    return ApprovalState.DIFFERENTLY.value if options["differently"] is not None else ""


def _clean(text: str) -> str:
    return replace_control_characters(text)
