"""Conversations as people see them."""
