"""`manage.py replay`: what recorded runs would have done under other limits, without a model."""

import json
import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet

from agents.core.config import AgentConfig
from agents.core.decisions import TREES, build_guard
from agents.core.reasons import REASONS
from agents.core.replay.engine import Recording, Verdict, replay, summarize
from agents.core.stuck import DEFAULT_STUCK_RULES
from agents.management.arguments import (
    build_config,
    parse_integers,
    parse_stuck_rules,
    parse_tree,
)
from agents.management.commands.runs import find_run
from agents.management.lookup import find_user
from agents.management.replay_report import (
    format_changed_runs,
    format_scores,
    format_summary,
    serialize_scores,
    serialize_summary,
    serialize_verdict,
)
from agents.management.traces import read_traces
from agents.models import AgentRun
from agents.replay_source import load_recordings

FILTERS = ("since", "reason", "user")


class Command(BaseCommand):
    help = "Replay recorded runs under other limits, another tree or other stuck rules."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", nargs="*", help="the id of a run, or its beginning; or all")
        parser.add_argument(
            "--set", action="append", default=[], metavar="FIELD=VALUE", help="another limit"
        )
        parser.add_argument("--tree", help=f"another tree: {', '.join(TREES.names())}")
        parser.add_argument(
            "--stuck",
            metavar="RULE=COUNT,...",
            help="other stuck rules: identical=3,writing=4,known=5 are the shipped ones, 0 is off",
        )
        parser.add_argument("--traces", type=Path, metavar="FILE", help="runs in a .jsonl(.gz)")
        parser.add_argument("--since", metavar="DATE", help="runs that began then or later")
        parser.add_argument("--reason", metavar="CODE", help="runs that ended like this")
        parser.add_argument("--user", metavar="NAME", help="runs of this person")
        parser.add_argument("--json", action="store_true", help="one run per line, then the sums")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._replay(options)
        except BrokenPipeError:  # whoever reads has read enough; what is left goes nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def _replay(self, options: dict[str, Any]) -> None:
        limits = parse_integers("--set", options["set"])
        config = build_config(limits)
        tree = parse_tree(options["tree"]) if options["tree"] is not None else None
        rules = (
            parse_stuck_rules(options["stuck"])
            if options["stuck"] is not None
            else DEFAULT_STUCK_RULES
        )
        play = partial(replay, limits=limits, tree=tree, stuck=rules)
        if options["traces"] is None:
            self._report(map(play, _load_recordings(options, tree)), as_json=options["json"])
            return
        if options["run"] or any(options[name] is not None for name in FILTERS):
            raise CommandError("--traces replays all runs of a file: name no runs, and no filter.")
        runs = read_traces(options["traces"], rules)
        labels = [label for _, label in runs]
        turn_limit = _get_effective_config(config, tree or "default").max_iterations
        self._report(
            (play(recording) for recording, _ in runs),
            as_json=options["json"],
            scores=serialize_scores(labels, turn_limit)
            if options["json"]
            else format_scores(labels, rules, turn_limit),
        )

    def _report(self, verdicts: Iterable[Verdict], *, as_json: bool, scores: Any = ()) -> None:
        """Print what was found, in words, or as JSON: a line for every run, then the sums."""
        if as_json:
            found = summarize(self._write_json_lines(verdicts))
            for data in filter(None, (serialize_summary(found), scores)):
                self.stdout.write(json.dumps(data, ensure_ascii=False))
            return
        changed: list[Verdict] = []
        found = summarize(_collect_changes(verdicts, changed))
        for line in (*format_summary(found), *scores, *format_changed_runs(changed)):
            self.stdout.write(line)

    def _write_json_lines(self, verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
        for verdict in verdicts:
            self.stdout.write(json.dumps(serialize_verdict(verdict), ensure_ascii=False))
            yield verdict


def _collect_changes(verdicts: Iterable[Verdict], changed: list[Verdict]) -> Iterator[Verdict]:
    for verdict in verdicts:
        if verdict.changes:
            changed.append(verdict)
        yield verdict


def _get_effective_config(config: AgentConfig, tree: str) -> AgentConfig:
    return build_guard(tree, config).config


def _load_recordings(options: dict[str, Any], tree: str | None) -> Iterator[Recording]:
    """Return the runs that were named, or those that have ended and pass the filters."""
    if options["run"]:
        if any(options[name] is not None for name in FILTERS):
            raise CommandError("Name runs, or filter them, not both.")
        return load_recordings([find_run(name).pk for name in options["run"]], tree=tree)
    return load_recordings(_filter_runs(options), tree=tree)


def _filter_runs(options: dict[str, Any]) -> "QuerySet[AgentRun]":
    runs = AgentRun.objects.filter(outcome__isnull=False)
    if (since := options["since"]) is not None:
        runs = runs.filter(started_at__gte=_parse_moment(since))
    if (reason := options["reason"]) is not None:
        if reason not in REASONS:
            known = ", ".join(REASONS.names())
            raise CommandError(f"There is no reason {reason!r}. Known: {known}.")
        runs = runs.filter(reason=reason)
    if options["user"] is not None:
        runs = runs.filter(user=find_user(options["user"]))
    return runs


def _parse_moment(text: str) -> datetime:
    """Return a day or a moment in ISO 8601; UTC unless it says otherwise."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(f"--since {text!r}: give a date such as 2026-11-16.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
