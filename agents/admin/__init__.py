"""The audit: why every run stopped, for those who may ask. Everything here only reads.

Django finds this package at start-up; importing a module registers what it shows.
"""

from agents.admin import agent_configs, audit_entries
from agents.admin.runs import admin

__all__ = ["admin", "agent_configs", "audit_entries"]
