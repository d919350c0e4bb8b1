"""The audit: why every run stopped, for those who may ask. It only reads; projects, their people
and the settings of the site can be changed.

Django finds this package at start-up; importing a module registers what it shows.
"""

from agents.admin import (
    agent_configs,
    audit_entries,
    behaviours,
    projects,
    site_settings,
    subscribers,
)
from agents.admin.runs import admin

__all__ = [
    "admin",
    "agent_configs",
    "audit_entries",
    "behaviours",
    "projects",
    "site_settings",
    "subscribers",
]
