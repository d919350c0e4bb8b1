"""What the agent can do: typed functions, a registry of them, and an executor that runs them."""
