(tree "oracle-agent"
  :description "Answers one question: asks the model and runs the tools it calls, until it answers."
  :blackboard-schema {:messages [] :tools [] :tool_calls [] :max_tokens 0}

  (sequence
    (action build-messages :fn "oracle.fill_prompt")   ; system prompt, history, question, tools
    (repeater :until-success :max-iterations 1000
      (decorator budget-check                          ; every limit is held here, and only here
        (subtree agent-turn
          (sequence
            (llm-call :messages (blackboard :messages)
                      :tools (blackboard :tools)
                      :budget (blackboard :max_tokens)
                      :interruptible true)
            (selector
              (sequence
                (condition has-tool-calls?)
                (action plan-calls :fn "tools.plan")
                (parallel :policy :continue-on-failure :max (config :max_parallel_tools)
                  (for-each (blackboard :tool_calls)
                    (action execute-tool :fn "tools.execute")))
                (action hand-over :fn "tools.hand_over"))
              (action keep-answer :fn "oracle.keep_answer"))))))))
