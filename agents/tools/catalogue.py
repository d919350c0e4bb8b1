"""Every tool that comes with Oracle: importing this module registers them all."""

# isort: off
from agents.tools import (
    librarian,
    builtin,
    self_notes,
    vault,
    threads,
    code,
    web_fetch,
)  # the order in which models read them

# isort: on
from agents.tools.registry import TOOLS

__all__ = ["TOOLS", "builtin", "code", "librarian", "self_notes", "threads", "vault", "web_fetch"]
