"""Closed rows are immutable also for those who bypass Django: triggers of the database.

Events are append-only from the first; a run is closed once it has an outcome. What may still
change is erasing content, if an entry of the audit says so: of a whole run, or of one subagent.
They are installed after every `migrate`, because SQLite loses a table's triggers when a migration
rebuilds the table.
"""

from collections.abc import Iterator
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

TRIGGER_NAMES = ("changed", "removed", "added", "emptied")
_ERASABLE_COLUMNS = {
    "agents_runevent": ("content",),
    "agents_agentrun": (
        "question",
        "answer",
        "explanation",
        "cancel_note",
        "behaviour",
        "user_id",
    ),
    "agents_auditentry": ("by_id",),
    "agents_runtool": (),
}
"""Tables that are kept, and the columns that erasing empties."""
_ERASURE_LOGGED = (
    "EXISTS (SELECT 1 FROM agents_auditentry a WHERE a.run_id = OLD.{run} AND a.verb = 'erase')"
)
_SUBAGENT_ERASURE_LOGGED = (
    "EXISTS (SELECT 1 FROM agents_auditentry a WHERE a.run_id = OLD.run_id "
    "AND a.verb = 'erase_unfinished' AND {call} = {parent})"
)
"""An entry about a subagent unlocks its own events and no others."""
_SUBAGENT_ERASURE_BY_VENDOR = {
    "sqlite": _SUBAGENT_ERASURE_LOGGED.format(
        call="json_extract(a.detail, '$.call')", parent="json_extract(OLD.data, '$.parent')"
    ),
    "postgresql": _SUBAGENT_ERASURE_LOGGED.format(
        call="a.detail ->> 'call'", parent="OLD.data ->> 'parent'"
    ),
}
_ERASURE_CONDITIONS = {
    "agents_runevent": f"({_ERASURE_LOGGED.format(run='run_id')} OR {{unfinished}})",
    "agents_agentrun": _ERASURE_LOGGED.format(run="id"),
    "agents_auditentry": "NEW.by_id IS NULL",
    "agents_runtool": "1 = 0",
}
_RUN_IS_CLOSED = "(SELECT outcome FROM agents_agentrun WHERE id = NEW.run_id) IS NOT NULL"
_EXISTS = "EXISTS (SELECT 1 FROM"
# INSERT OR REPLACE removes a row without asking the trigger for that.
_REFUSED_INSERTS = {
    "agents_runevent": f"{_RUN_IS_CLOSED} OR {_EXISTS} agents_runevent e "
    "WHERE e.id = NEW.id OR (e.run_id = NEW.run_id AND e.seq = NEW.seq))",
    "agents_agentrun": f"{_EXISTS} agents_agentrun r WHERE r.id = NEW.id)",
    "agents_auditentry": f"{_EXISTS} agents_auditentry a WHERE a.id = NEW.id)",
    "agents_runtool": f"{_RUN_IS_CLOSED} OR {_EXISTS} agents_runtool t WHERE t.id = NEW.id)",
}
_REFUSAL_MESSAGE = "the audit keeps what was recorded"


def install(connection: BaseDatabaseWrapper) -> None:
    """Put the triggers there, in place of those that may be there."""
    with connection.cursor() as cursor:
        if set(_ERASABLE_COLUMNS) <= set(connection.introspection.table_names(cursor)):
            for statement in install_statements(connection):
                cursor.execute(statement)


def after_migrate(using: str, **_: Any) -> None:
    install(connections[using])


def install_statements(connection: BaseDatabaseWrapper) -> Iterator[str]:
    """Yield what puts the triggers there, for the columns that there are: a database that was
    migrated back, or only half of the way, lacks some."""
    yield from drop_statements(connection)
    build = _postgresql_statements if connection.vendor == "postgresql" else _sqlite_statements
    with connection.cursor() as cursor:
        for table, erasable in _ERASABLE_COLUMNS.items():
            found = connection.introspection.get_table_description(cursor, table)
            columns = [column.name for column in found]
            yield from build(table, columns, [name for name in erasable if name in columns])


def drop_statements(connection: BaseDatabaseWrapper) -> Iterator[str]:
    for table in _ERASABLE_COLUMNS:
        place = f" ON {table}" if connection.vendor == "postgresql" else ""
        for name in TRIGGER_NAMES:
            yield f"DROP TRIGGER IF EXISTS {table}_{name}{place}"


def _closed_condition(table: str) -> str:
    """Return when a run is closed: until then its row is its owner's."""
    return "OLD.outcome IS NOT NULL" if table == "agents_agentrun" else "1 = 1"


def _erasure_condition(table: str, vendor: str) -> str:
    """Return when erasing is allowed, in a database's own words."""
    return _ERASURE_CONDITIONS[table].format(unfinished=_SUBAGENT_ERASURE_BY_VENDOR[vendor])


def _sqlite_statements(table: str, columns: list[str], erasable: list[str]) -> Iterator[str]:
    kept = [f"NEW.{name} IS OLD.{name}" for name in columns if name not in erasable]
    emptied = [_emptied_condition(name) for name in erasable]
    erasing = " AND ".join([*kept, *emptied, _erasure_condition(table, "sqlite")])
    refuse = f"BEGIN SELECT RAISE(ABORT, '{_REFUSAL_MESSAGE}'); END"
    yield (
        f"CREATE TRIGGER {table}_changed BEFORE UPDATE ON {table} "
        f"WHEN {_closed_condition(table)} AND NOT ({erasing}) {refuse}"
    )
    yield f"CREATE TRIGGER {table}_removed BEFORE DELETE ON {table} {refuse}"
    refused = _REFUSED_INSERTS[table]
    yield f"CREATE TRIGGER {table}_added BEFORE INSERT ON {table} WHEN {refused} {refuse}"


def _emptied_condition(name: str) -> str:
    empty = f"NEW.{name} IS NULL" if name.endswith("_id") else f"NEW.{name} = ''"
    return f"({empty} OR NEW.{name} IS OLD.{name})"


def _postgresql_statements(table: str, _: list[str], erasable: list[str]) -> Iterator[str]:
    left_out = "ARRAY[" + ", ".join(f"'{name}'" for name in erasable) + "]::text[]"
    emptied = [
        _emptied_condition(name).replace(" IS OLD", " IS NOT DISTINCT FROM OLD")
        for name in erasable
    ]
    erasing = " AND ".join(
        [
            f"to_jsonb(NEW) - {left_out} = to_jsonb(OLD) - {left_out}",
            *emptied,
            _erasure_condition(table, "postgresql"),
        ]
    )
    refuse = (
        f"RAISE EXCEPTION '{_REFUSAL_MESSAGE}' USING ERRCODE = 'integrity_constraint_violation';"
    )
    yield f"""
        CREATE OR REPLACE FUNCTION {table}_changed() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN IF {erasing} THEN RETURN NEW; END IF; {refuse} END $$"""
    yield f"""
        CREATE OR REPLACE FUNCTION {table}_removed() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN {refuse} END $$"""
    yield (
        f"CREATE TRIGGER {table}_changed BEFORE UPDATE ON {table} FOR EACH ROW "
        f"WHEN ({_closed_condition(table)}) EXECUTE FUNCTION {table}_changed()"
    )
    yield (
        f"CREATE TRIGGER {table}_removed BEFORE DELETE ON {table} FOR EACH ROW "
        f"EXECUTE FUNCTION {table}_removed()"
    )
    yield (
        f"CREATE TRIGGER {table}_emptied BEFORE TRUNCATE ON {table} FOR EACH STATEMENT "
        f"EXECUTE FUNCTION {table}_removed()"
    )
    if table in ("agents_runevent", "agents_runtool"):
        yield f"""
            CREATE OR REPLACE FUNCTION {table}_added() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN IF EXISTS (SELECT 1 FROM added n JOIN agents_agentrun r ON r.id = n.run_id
                WHERE r.outcome IS NOT NULL) THEN {refuse} END IF; RETURN NULL; END $$"""  # noqa: S608  # names of ours
        yield (
            f"CREATE TRIGGER {table}_added AFTER INSERT ON {table} REFERENCING NEW TABLE AS added "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_added()"
        )
