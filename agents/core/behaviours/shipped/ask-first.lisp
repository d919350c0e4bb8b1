(tree "ask-first"
  :description "Says what it would change and waits for a yes before it writes. Takes one to six more iterations, and your answer."
  :blackboard-schema {:changes ""}

  (sequence
    (repeater :until-success :max-iterations 6
      (turn :interim "Changes" :tools :reading :into :changes
            :say "Look first. Then list the changes you would make, one a line, or write: none."))
    (selector
      (sequence
        (condition "lower(text(changes)) == \"none\"")
        (turn :tools :none :say "Nothing needs to change. Answer."))
      (sequence
        (approve "May I do this?\n{changes}")
        (repeater :until-success
          (turn :say "The user agreed to your list. Do that and nothing else, then say what you did.")))
      (repeater :until-success :max-iterations 6
        (turn :tools :reading
              :say "The user did not agree, and nothing was changed. If they said what they want instead, list the changes for that; else say that all is as it was.")))))
