"""The audit: why every run stopped, for those who may ask. Everything here only reads.

Django finds this package at start-up; importing a module registers what it shows.
"""

from agents.admin import entries, runs

__all__ = ["entries", "runs"]
