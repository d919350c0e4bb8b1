"""A program that parses code. It knows no Django, so that it starts quickly and may be ended."""
