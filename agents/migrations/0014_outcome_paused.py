"""A run may end paused: it waits for somebody to decide."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0013_control")]

    operations = [
        migrations.AlterField(
            model_name="agentrun",
            name="outcome",
            field=models.CharField(
                blank=True,
                choices=[
                    ("completed", "Completed"),
                    ("limited", "Limited"),
                    ("paused", "Paused"),
                    ("cancelled", "Cancelled"),
                    ("failed", "Failed"),
                ],
                max_length=16,
                null=True,
            ),
        ),
    ]
