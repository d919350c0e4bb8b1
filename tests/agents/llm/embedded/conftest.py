"""What the tests of the embedded model share."""

from tests.agents.llm.embedded.fixtures import sample

__all__ = ["sample"]
