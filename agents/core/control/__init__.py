"""What happens in a run, by name, and what people may write about it. Pure.

`problems` says what is wrong with a text and where, `expression` reads one line of a small part of
Python, `kinds` are what its values can be, and `language` is what a use of it allows. `condition`
is one that holds or tells what did not, `template` a sentence with fields, and `toml` reads files
that hold all of these and says where in them a mistake stands. `events` are the names of what can
happen, `event_stream` finds them in a run's chunks, `observers` are handed them, and `facts` is
what is known of the run when one happens.
"""

from agents.core.control.evaluation import Unanswerable
from agents.core.control.expression import Expression, InvalidExpression, parse_expression
from agents.core.control.language import ARITHMETIC_SYNTAX, Language
from agents.core.control.problems import PlacedProblem

__all__ = [
    "ARITHMETIC_SYNTAX",
    "Expression",
    "InvalidExpression",
    "Language",
    "PlacedProblem",
    "Unanswerable",
    "parse_expression",
]
