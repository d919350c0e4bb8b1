"""What the tests of commands share."""

from tests.support.commands import site

__all__ = ["site"]
