"""Random rules: of every hook and action, with conditions that hold now and then."""

from random import Random

from agents.core.rules.reader import read_rule
from agents.core.rules.rule import Rule
from agents.core.rules.vocabulary import HOOKS

OWN_EVENTS = ("x.a", "x.b", "x.c.d")
_CONDITIONS = (
    "",
    "turn.number >= 2",
    "history.total_tool_calls >= 3 and turn.token_usage > 0.1",
    "any(tool.success for tool in history.tools)",
    "(state.count or 0) < 5",
    "history.total_failures > 1 or turn.elapsed > 2",
    "state.missing + 1 > 2",  # cannot be answered
    "event.severity == 'info'",
)
_ACTIONS = (
    'type = "notify"\nmessage = "Something happened."',
    'type = "log"\nmessage = "Noted."',
    'type = "set_state"\nkey = "count"\nexpression = "(state.count or 0) + 1"',
    'type = "set_state"\nkey = "tools"\nexpression = "history.tools"',
    'type = "stop"\nmessage = "Enough."',
    'type = "withhold"\ntool = "read"',
    *(f'type = "emit_event"\nevent = "{name}"' for name in OWN_EVENTS),
)


def write_rule(random: Random, number: int) -> str:
    """The text of a rule that can be read."""
    names = [*OWN_EVENTS, "x.*", "tool.call.*", "turn.end"]
    heard = f"on = {random.sample(names, k=random.randint(1, 3))}".replace("'", '"')
    if random.random() < 0.4:
        heard = f'trigger = "{random.choice(list(HOOKS))}"'
    actions = random.sample(_ACTIONS, k=random.randint(1, 3))
    return "\n".join(
        [
            f'[rule]\nid = "rule-{number}"',
            heard,
            f"priority = {random.randint(1, 1_000)}",
            f"once = {random.choice(['true', 'false'])}",
            f'mode = "{random.choices(["on", "shadow", "off"], [8, 2, 1])[0]}"',
            f'[condition]\nexpression = "{random.choice(_CONDITIONS) or "true"}"',
            *(f"[[action]]\n{action}" for action in actions),
        ]
    )


def build_rules(random: Random, count: int) -> list[Rule]:
    return [read_rule(write_rule(random, number)) for number in range(count)]
