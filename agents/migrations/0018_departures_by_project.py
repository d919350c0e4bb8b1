"""Say which project somebody left. Rows from before do not know: they count for every project."""

from typing import Any, ClassVar

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.migrations.operations.base import Operation


def keep_one_per_user(apps: Any, schema_editor: Any) -> None:
    """Keep the oldest departure of each person: before this, there was one for all projects."""
    departures = apps.get_model("agents", "Departure").objects.using(schema_editor.connection.alias)
    oldest = departures.values("user").annotate(kept=models.Min("pk")).values("kept")
    departures.exclude(pk__in=[*oldest.values_list("kept", flat=True)]).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0017_erasable_behaviour_name"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations: ClassVar[list[Operation]] = [
        migrations.AddField(
            model_name="departure",
            name="project",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="departures",
                to="agents.project",
            ),
        ),
        migrations.AlterField(
            model_name="departure",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="departures",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            model_name="departure",
            constraint=models.UniqueConstraint(
                fields=("user", "project"), name="one_departure_per_project"
            ),
        ),
        migrations.RunPython(migrations.RunPython.noop, keep_one_per_user),
    ]
