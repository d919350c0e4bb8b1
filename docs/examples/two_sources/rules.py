"""A rule that goes with the tool: after three claims without a source, the run ends."""

from agents.core.rules import register_rule

register_rule("""
[rule]
id = "too-many-unsupported-claims"
name = "Too many claims without a source"
description = "Ends a run that keeps claiming what no note supports."
trigger = "on_tool_failure"
once = true

[condition]
expression = "history.failures['check_claim'] >= 3"

[[action]]
type = "stop"
message = "Three claims had no source."
""")
