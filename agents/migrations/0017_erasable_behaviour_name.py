"""Let erasure empty the name of an own behaviour: no column changes, but the triggers that every
`migrate` puts in place do. A server does not start before."""

from typing import ClassVar

from django.db import migrations
from django.db.migrations.operations.base import Operation


class Migration(migrations.Migration):
    dependencies = [("agents", "0016_approvals")]
    operations: ClassVar[list[Operation]] = []
