"""What the tests of the embedded model share."""

from tests.agents.llm.embedded.fixtures import kept, sample

__all__ = ["kept", "sample"]
