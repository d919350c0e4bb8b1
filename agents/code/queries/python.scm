; Definitions. A function in a class is a method, a variable in a class a field, and a variable in
; a function is none: that is decided by what is around them.
(function_definition name: (identifier) @name) @definition.function @scope
(class_definition name: (identifier) @name) @definition.class
(type_alias_statement left: (type (identifier) @name)) @definition.type
(assignment left: (identifier) @name @local) @definition.variable
(assignment left: (pattern_list (identifier) @name)) @definition.variable
(assignment left: (tuple_pattern (identifier) @name)) @definition.variable

; Names that belong to a function alone.
(lambda) @scope
(list_comprehension) @scope
(dictionary_comprehension) @scope
(set_comprehension) @scope
(generator_expression) @scope
(parameters (identifier) @local)
(lambda_parameters (identifier) @local)
(default_parameter name: (identifier) @local)
(typed_default_parameter name: (identifier) @local)
(typed_parameter . (identifier) @local)
(list_splat_pattern (identifier) @local)
(dictionary_splat_pattern (identifier) @local)
(augmented_assignment left: (identifier) @local)
(pattern_list (identifier) @local)
(tuple_pattern (identifier) @local)
(list_pattern (identifier) @local)
(for_statement left: (identifier) @local)
(for_in_clause left: (identifier) @local)
(as_pattern_target (identifier) @local)
(named_expression name: (identifier) @local)

; Uses.
(keyword_argument name: (identifier) @ignored)
(attribute object: (_) @qualifier attribute: (identifier) @reference)
(identifier) @reference

(import_statement) @import
(import_from_statement) @import
(future_import_statement) @import
