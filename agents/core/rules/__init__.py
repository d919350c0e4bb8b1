"""Rules that people write: when something happens and a condition holds, do a little. Pure.

`reader` reads one from TOML, `vocabulary` is what it may name, `engine` says which rules fire on an
event and what they do, and `dry_run` tells what a rule would have done in a run that is over.
`shipped` are those that come with Oracle, `packaged` those of packages.
"""

from agents.core.rules.packaged import register_rule

__all__ = ["register_rule"]
