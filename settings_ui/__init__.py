"""The pages on which people tune their agent."""
