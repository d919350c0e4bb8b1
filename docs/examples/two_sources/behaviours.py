"""A behaviour that goes with the tool: an answer is drafted, and each of its claims is checked."""

from agents.core.behaviours.packaged import register_behaviour

register_behaviour("""
(tree "claims-checked"
  :description "Drafts an answer, checks its claims one by one, keeps those with a source: \
about twice the tokens."
  :blackboard-schema {:draft ""}

  (sequence
    (repeater :until-success :max-iterations 6
      (turn :interim "Draft" :tools :reading :into :draft))
    (repeater :until-success :max-iterations 6
      (turn :tools [check_claim]
            :say "Check each claim of your draft. Then answer without what has no source."))))
""")
