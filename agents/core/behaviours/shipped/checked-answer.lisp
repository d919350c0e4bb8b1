(tree "checked-answer"
  :description "Drafts an answer, checks every claim against its source, then gives the corrected one. Takes about twice the tokens."
  :blackboard-schema {:draft "" :doubts ""}

  (sequence
    (repeater :until-success :max-iterations 8
      (turn :interim "Draft" :into :draft))
    (repeater :until-success :max-iterations 4
      (turn :interim "Check" :tools :reading :into :doubts
            :say "Go through your draft claim by claim. Look up again what you are not sure of. List what is wrong or not supported, or write: none."))
    (selector
      (sequence
        (condition "lower(text(doubts)) == \"none\"")
        (turn :tools :none :say "Give the draft as your answer, unchanged."))
      (turn :tools :none :say "Give the corrected answer only, with its sources."))))
