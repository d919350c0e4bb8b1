"""Give each process one lease, in place of one for each run.

Runs that are still active get a lease for the process that had them. It is never renewed, so a
server ends them as it ends those of any process that died.
"""

from typing import Any, ClassVar

from django.db import migrations, models
from django.db.migrations.operations.base import Operation
from django.db.models.functions import Now


def drop_trigger(apps: Any, schema_editor: Any) -> None:
    """Free the column: on SQLite the trigger names each one. Every `migrate` puts it back."""
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TRIGGER IF EXISTS agents_agentrun_changed")


def lease_active_runs(apps: Any, schema_editor: Any) -> None:
    """Keep the owners of active runs, which were named by host, process and boot."""
    alias = schema_editor.connection.alias
    active = apps.get_model("agents", "AgentRun").objects.using(alias).filter(outcome=None)
    leases = apps.get_model("agents", "ProcessLease").objects.using(alias)
    for owner in active.order_by().values_list("owner", flat=True).distinct():
        host, _, rest = owner.partition(":")
        pid = rest.partition(":")[0]
        if pid.isdigit():
            leases.create(pk=owner, host=host, pid=int(pid), renewed_at=Now())


class Migration(migrations.Migration):
    dependencies = [("agents", "0018_departures_by_project")]

    operations: ClassVar[list[Operation]] = [
        migrations.CreateModel(
            name="ProcessLease",
            fields=[
                ("id", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("host", models.CharField(max_length=200)),
                ("pid_namespace", models.CharField(blank=True, max_length=100)),
                ("pid", models.PositiveIntegerField()),
                ("started", models.CharField(blank=True, max_length=100)),
                ("renewed_at", models.DateTimeField()),
                ("renewals", models.PositiveBigIntegerField(default=0)),
            ],
        ),
        migrations.RunPython(lease_active_runs, migrations.RunPython.noop),
        migrations.RemoveIndex(model_name="agentrun", name="active_runs"),
        migrations.RunPython(drop_trigger, drop_trigger),
        migrations.RemoveField(model_name="agentrun", name="lease_until"),
        migrations.AddIndex(
            model_name="agentrun",
            index=models.Index(
                condition=models.Q(("outcome__isnull", True)), fields=["owner"], name="active_runs"
            ),
        ),
    ]
