"""A project's code: reading it in, finding definitions and references, and a map of it."""
