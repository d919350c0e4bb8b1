; Definitions. What a declarator names may stand behind stars and brackets.
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @definition.function @scope
(function_definition declarator: (pointer_declarator (function_declarator declarator: (identifier) @name))) @definition.function @scope
(function_definition declarator: (pointer_declarator (pointer_declarator (function_declarator declarator: (identifier) @name)))) @definition.function @scope
(declaration declarator: (function_declarator declarator: (identifier) @name)) @definition.function @scope
(declaration declarator: (pointer_declarator (function_declarator declarator: (identifier) @name))) @definition.function @scope
(struct_specifier name: (type_identifier) @name body: (_)) @definition.class
(union_specifier name: (type_identifier) @name body: (_)) @definition.class
(enum_specifier name: (type_identifier) @name body: (_)) @definition.enum
(enumerator name: (identifier) @name) @definition.constant
(type_definition declarator: (type_identifier) @name) @definition.type
(type_definition declarator: (pointer_declarator (type_identifier) @name)) @definition.type
(type_definition declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator (type_identifier) @name)))) @definition.type
(preproc_def name: (identifier) @name) @definition.macro
(preproc_function_def name: (identifier) @name) @definition.macro
(field_declaration declarator: (field_identifier) @name) @definition.field
(field_declaration declarator: (pointer_declarator (field_identifier) @name)) @definition.field
(field_declaration declarator: (array_declarator declarator: (field_identifier) @name)) @definition.field
(declaration declarator: (identifier) @name) @definition.variable
(declaration declarator: (init_declarator declarator: (identifier) @name)) @definition.variable
(declaration declarator: (init_declarator declarator: (pointer_declarator (identifier) @name))) @definition.variable
(declaration declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @name))) @definition.variable
(declaration declarator: (array_declarator declarator: (identifier) @name)) @definition.variable
(declaration declarator: (pointer_declarator (identifier) @name)) @definition.variable

; Names that belong to a function alone.
(compound_statement) @scope
(preproc_params (identifier) @ignored)
(for_statement) @scope
(parameter_declaration declarator: (identifier) @local)
(parameter_declaration declarator: (pointer_declarator (identifier) @local))
(parameter_declaration declarator: (pointer_declarator (pointer_declarator (identifier) @local)))
(parameter_declaration declarator: (array_declarator declarator: (identifier) @local))
(declaration declarator: (identifier) @local)
(declaration declarator: (init_declarator declarator: (identifier) @local))
(declaration declarator: (init_declarator declarator: (pointer_declarator (identifier) @local)))
(declaration declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @local)))
(declaration declarator: (array_declarator declarator: (identifier) @local))
(declaration declarator: (pointer_declarator (identifier) @local))

; Uses.
(field_expression argument: (_) @qualifier field: (field_identifier) @reference)
(identifier) @reference
(type_identifier) @reference

(preproc_include) @import
