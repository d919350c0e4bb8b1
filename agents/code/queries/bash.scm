; Definitions.
(function_definition name: (word) @name) @definition.function @scope
(program (variable_assignment name: (variable_name) @name) @definition.variable)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @definition.variable)

; Names that belong to a function alone.
(function_definition (compound_statement (declaration_command "local" (variable_assignment name: (variable_name) @local))))
(function_definition (compound_statement (declaration_command "local" (variable_name) @local)))

; Uses.
(command name: (command_name (word) @reference))
(simple_expansion (variable_name) @reference)
(expansion (variable_name) @reference)

(command name: (command_name (word) @_source) (#any-of? @_source "source" ".")) @import
