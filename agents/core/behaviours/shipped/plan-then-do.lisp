(tree "plan-then-do"
  :description "Plans first, with read-only tools; then carries out the plan and answers. Takes one to four more iterations."
  :blackboard-schema {:plan ""}

  (sequence
    (repeater :until-success :max-iterations 4
      (turn :interim "Plan" :tools :reading :into :plan
            :say "Look around if you must. Then write a numbered plan of at most five steps, nothing else."))
    (notify "Plan\n{plan}")
    (repeater :until-success
      (turn :say "Work off your plan. Answer when it is done, and say which steps you left out."))))
