"""The agent: what it is, what it can do, what it did."""
