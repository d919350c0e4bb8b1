"""A subscriber that goes with the tool: it tells people which claims nothing supports."""

from agents.core.notify import register_subscriber

register_subscriber("""
[subscriber]
id = "unsupported-claims"
name = "Claims without a source"
description = "Tells you when the model wanted to claim what no note supports."

[events]
types = ["tool.call.failure"]
when = "result.tool_name == 'check_claim'"

[batching]
window = 5

[output]
at = "after_tool"
to = ["user"]
message = "A claim has no source: {error}"
""")
