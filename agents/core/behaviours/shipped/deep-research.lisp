(tree "deep-research"
  :description "Splits the question, lets librarians read in parallel, and writes one cited report. Takes several times the tokens."
  :blackboard-schema {:outline "" :topics [] :reports []}

  (sequence
    (turn :interim "Topics" :tools :none :into :outline
          :say "Split the question into two to five independent topics, one a line, nothing else.")
    (set :topics (lines (blackboard :outline)) :most 5)
    (parallel :policy :require-one :wait-for-all true
      (for-each (blackboard :topics)
        (call delegate_librarian :into :reports
              :args {:task "Topic: {item}. It is part of this question: {question}"})))
    (repeater :until-success :max-iterations 4
      (turn :tools :reading
            :say "Write the report from what the librarians found. Cite. Say what is missing and where they disagree."))))
