"""Every tool that comes with Oracle: importing this module registers them all."""

from agents.tools import librarian, plain, vault
from agents.tools.registry import TOOLS

__all__ = ["TOOLS", "librarian", "plain", "vault"]
