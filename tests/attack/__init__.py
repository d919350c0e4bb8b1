"""A standing attack: what somebody with an account, or without one, can do to the others.

`python -m tests.attack` starts a fresh server process and measures another person's page and stream
during each attack, beside a control without one.
"""
