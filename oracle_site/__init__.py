"""Wiring only: settings, addresses and the ASGI entry point."""
