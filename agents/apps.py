"""Start-up: find the trees and tools of what is installed, then settle what may be chosen."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.db.models.signals import post_migrate, pre_delete
from django.utils.module_loading import module_has_submodule

from agents import checks
from agents.core.decisions.protocol import TREES
from agents.core.reasons import REASONS
from agents.core.registry import RegistrationError
from agents.tools.catalogue import TOOLS


class AgentsConfig(AppConfig):
    name = "agents"
    verbose_name = "Agents"

    def ready(self) -> None:
        modules = ["agents.core.decisions.trees", *tree_modules(apps.get_app_configs())]
        checks.registration_errors = import_trees(modules)
        for registry in (TREES, REASONS, TOOLS):
            registry.close()
        checks.register_all()
        self._connect_signals()

    def _connect_signals(self) -> None:
        """Rows can be imported only now."""
        from agents.audit import db_triggers

        post_migrate.connect(db_triggers.after_migrate, sender=self)
        pre_delete.connect(_erase_user_content, sender=settings.AUTH_USER_MODEL)


def _erase_user_content(instance: Any, **_: Any) -> None:
    from agents.audit import erasure

    erasure.erase_user_content(instance)


def tree_modules(configs: Iterable[AppConfig]) -> list[str]:
    """The `decision_trees` module of each app that has one."""
    return [
        f"{config.name}.decision_trees"
        for config in configs
        if config.module is not None and module_has_submodule(config.module, "decision_trees")
    ]


def import_trees(modules: Iterable[str]) -> list[RegistrationError]:
    """Import each module, so that its trees register. Refusals are returned for the checks."""
    refused = []
    for module in modules:
        try:
            import_module(module)
        except RegistrationError as error:
            refused.append(error)
    return refused
