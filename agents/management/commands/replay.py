"""`manage.py replay`: what recorded runs would have done under other limits, another
behaviour or a rule, without a model."""

import json
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet

from agents.behaviour_replay import replay_behaviour
from agents.core.behaviours import Behaviour
from agents.core.config import AgentConfig
from agents.core.control.toml import InvalidToml
from agents.core.decisions import TREES, build_guard
from agents.core.reasons import REASONS
from agents.core.replay.engine import Verdict, replay, summarize
from agents.core.rules.dry_run import RuleTrial, summarize_trials
from agents.core.rules.reader import MAX_RULE_LENGTH, read_rule
from agents.core.stuck import DEFAULT_STUCK_RULES, StuckRules
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
from agents.management.rule_report import (
    format_fired_runs,
    format_trial_summary,
    serialize_trial,
    serialize_trial_summary,
)
from agents.management.traces import read_traces
from agents.models import AgentRun
from agents.replay_source import load_recordings
from agents.rule_trials import try_rule_on_runs
from agents.runtime import list_behaviours
from agents.tools import registry

FILTERS = ("since", "reason", "user")
WHAT_IFS = ("set", "tree", "behaviour", "stuck")
T = TypeVar("T")


class Command(BaseCommand):
    help = (
        "Replay recorded runs under other limits, another tree or behaviour, other stuck rules, "
        "or a rule."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "run", nargs="*", help="the id of a run, or its beginning; without one, all runs"
        )
        parser.add_argument(
            "--set", action="append", default=[], metavar="FIELD=VALUE", help="another limit"
        )
        parser.add_argument("--tree", help=f"another tree: {', '.join(TREES.names())}")
        parser.add_argument("--behaviour", metavar="NAME", help="another behaviour, of the site's")
        parser.add_argument(
            "--stuck",
            metavar="RULE=COUNT,...",
            help="other stuck rules: identical=3,writing=4,known=5,answers=7 are the shipped ones, "
            "0 is off",
        )
        parser.add_argument("--rule", type=Path, metavar="FILE", help="try a rule, a .toml file")
        parser.add_argument("--traces", type=Path, metavar="FILE", help="runs in a .jsonl(.gz)")
        parser.add_argument("--since", metavar="DATE", help="runs that began then or later")
        parser.add_argument("--reason", metavar="CODE", help="runs that ended like this")
        parser.add_argument("--user", metavar="NAME", help="runs of this person")
        parser.add_argument("--json", action="store_true", help="one run per line, then the sums")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["rule"] is not None:
            self._try_rule(options)
            return
        limits = parse_integers("--set", options["set"])
        config = build_config(limits)
        tree = parse_tree(options["tree"]) if options["tree"] is not None else None
        rules = (
            parse_stuck_rules(options["stuck"])
            if options["stuck"] is not None
            else DEFAULT_STUCK_RULES
        )
        if options["behaviour"] is not None:
            self._replay_behaviour(options, limits, rules)
            return
        play = partial(replay, limits=limits, tree=tree, stuck=rules)
        if options["traces"] is None:
            self._report(
                map(play, load_recordings(_choose_runs(options), tree=tree)),
                as_json=options["json"],
            )
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

    def _replay_behaviour(
        self, options: dict[str, Any], limits: dict[str, int], stuck: StuckRules
    ) -> None:
        if options["tree"] is not None or options["traces"] is not None:
            raise CommandError("A behaviour names its decision tree: give no tree, and no traces.")
        behaviour = _find_behaviour(options["behaviour"])
        runs = _choose_runs(options)
        ids = list(runs.values_list("pk", flat=True) if isinstance(runs, QuerySet) else runs)
        writes = registry.tool_writes
        verdicts = replay_behaviour(behaviour, ids, writes=writes, limits=limits, stuck=stuck)
        self._report(verdicts, as_json=options["json"])

    def _try_rule(self, options: dict[str, Any]) -> None:
        """Print what a rule would have done; one that cannot be read is refused with places."""
        if any(options[name] for name in WHAT_IFS) or options["traces"] is not None:
            raise CommandError("A rule is tried by itself: give nothing else to change, no traces.")
        try:
            rule = read_rule(_read_text(options["rule"]), tools=registry.names())
        except InvalidToml as error:
            for problem in error.problems:
                self.stderr.write(str(problem))
            raise CommandError(f"{options['rule']} is not a rule.") from None
        trials = try_rule_on_runs(rule, _choose_runs(options), writes=registry.tool_writes)
        if options["json"]:
            found = summarize_trials(self._write_json_lines(trials, serialize_trial))
            self.stdout.write(json.dumps(serialize_trial_summary(rule, found), ensure_ascii=False))
            return
        fired: list[RuleTrial] = []
        found = summarize_trials(_collect(trials, fired, lambda trial: bool(trial.firings)))
        for line in (*format_trial_summary(rule, found), *format_fired_runs(fired)):
            self.stdout.write(line)

    def _report(self, verdicts: Iterable[Verdict], *, as_json: bool, scores: Any = ()) -> None:
        """Print what was found, in words, or as JSON: a line for every run, then the sums."""
        if as_json:
            found = summarize(self._write_json_lines(verdicts, serialize_verdict))
            for data in filter(None, (serialize_summary(found), scores)):
                self.stdout.write(json.dumps(data, ensure_ascii=False))
            return
        changed: list[Verdict] = []
        found = summarize(_collect(verdicts, changed, lambda verdict: verdict.changes))
        for line in (*format_summary(found), *scores, *format_changed_runs(changed)):
            self.stdout.write(line)

    def _write_json_lines(
        self, found: Iterable[T], serialize: Callable[[T], dict[str, Any]]
    ) -> Iterator[T]:
        for one in found:
            self.stdout.write(json.dumps(serialize(one), ensure_ascii=False))
            yield one


def _collect(found: Iterable[T], kept: list[T], is_wanted: Callable[[T], bool]) -> Iterator[T]:
    """Pass everything on, and keep what is to be listed."""
    for one in found:
        if is_wanted(one):
            kept.append(one)
        yield one


def _find_behaviour(name: str) -> Behaviour:
    known = {entry.name: entry.behaviour for entry in list_behaviours(None) if entry.behaviour}
    if name not in known:
        raise CommandError(f"There is no behaviour {name!r}. Known: {', '.join(known)}.")
    return known[name]


def _read_text(path: Path) -> str:
    """Return the text of a rule's file, no more of it than shows that it is too long."""
    try:
        with path.open(encoding="utf-8-sig") as file:  # some editors begin it with a mark
            return file.read(MAX_RULE_LENGTH + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}.") from None


def _get_effective_config(config: AgentConfig, tree: str) -> AgentConfig:
    return build_guard(tree, config).config


def _choose_runs(options: dict[str, Any]) -> "QuerySet[AgentRun] | list[UUID]":
    """Return the runs that were named, or those that have ended and pass the filters."""
    if not options["run"]:
        return _filter_runs(options)
    if any(options[name] is not None for name in FILTERS):
        raise CommandError("Name runs, or filter them, not both.")
    return [find_run(name).pk for name in options["run"]]


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
