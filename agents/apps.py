"""Start-up: find what extends Oracle, then settle what may be chosen."""

from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.db.models.signals import post_migrate, pre_delete

from agents import checks, extensions
from agents.core.loop import choose_default_behaviour


class AgentsConfig(AppConfig):
    name = "agents"
    verbose_name = "Agents"

    def ready(self) -> None:
        checks.registration_errors = extensions.discover(apps.get_app_configs())
        checks.register_all()
        choose_default_behaviour(settings.ORACLE_DRIVER)
        self._connect_signals()

    def _connect_signals(self) -> None:
        """Connect signals. Rows can be imported only now."""
        from agents.audit import db_triggers
        from agents.projects.access import access_changed
        from agents.projects.purge import project_purged
        from agents.runtime import apply_access_change
        from agents.vault.purge import remove_files

        access_changed.connect(apply_access_change)
        project_purged.connect(remove_files)
        post_migrate.connect(db_triggers.after_migrate, sender=self)
        pre_delete.connect(_prepare_user_deletion, sender=settings.AUTH_USER_MODEL)


def _prepare_user_deletion(instance: Any, **_: Any) -> None:
    from django.db import transaction

    from agents.audit import erasure, traces
    from agents.projects.members import revoke_links_by

    erasure.erase_user_content(instance)
    revoke_links_by(instance, by=None)
    transaction.on_commit(traces.empty_log, robust=True)
