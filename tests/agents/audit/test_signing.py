"""What the chain covers: a column that nobody signs could be changed by anybody."""

from agents.audit import signing
from agents.models import AgentRun

UNSIGNED = {
    "user_id": "erased with its owner; a pseudonym of it is signed",
    "owner": "of the process that drives the run",
    "fence": "the same",
    "first_link": "is the signature at the start",
    "seal": "is the signature at the end",
}


def test_every_column_of_a_run_is_signed_or_has_a_reason_not_to_be() -> None:
    columns = {field.attname for field in AgentRun._meta.concrete_fields}
    signed = {*signing._START_FIELDS, *signing._END_FIELDS, *signing.ERASABLE_TEXTS}
    signed |= {*signing._BEHAVIOUR_FIELDS}
    assert columns - signed == set(UNSIGNED)
    assert signed - columns == set()


def test_what_drove_a_run_is_signed_and_runs_that_say_nothing_are_as_they_were() -> None:
    run = AgentRun(digests={"question": "q", "user": "u"}, tree="default", config={})
    plain = signing.first_link(run, b"key")
    run.behaviour, run.behaviour_digest = "plan-then-do", "a" * 64
    driven = signing.first_link(run, b"key")
    run.behaviour_digest = "b" * 64
    assert len({plain, driven, signing.first_link(run, b"key")}) == 3
    assert not {*signing._START_FIELDS} & {*signing._BEHAVIOUR_FIELDS}
