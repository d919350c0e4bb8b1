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
(class_specifier name: (type_identifier) @name body: (_)) @definition.class
(function_definition declarator: (function_declarator declarator: (field_identifier) @name)) @definition.method @scope
(function_definition declarator: (pointer_declarator (function_declarator declarator: (field_identifier) @name))) @definition.method @scope
(function_definition declarator: (reference_declarator (function_declarator declarator: [(field_identifier) (identifier)] @name))) @definition.function @scope
(function_definition declarator: (function_declarator declarator: [(destructor_name) (operator_name)] @name)) @definition.method @scope
(function_definition declarator: (function_declarator declarator: (qualified_identifier scope: (_) @container name: (_) @name))) @definition.method @scope
(function_definition declarator: (pointer_declarator (function_declarator declarator: (qualified_identifier scope: (_) @container name: (_) @name)))) @definition.method @scope
(function_definition declarator: (reference_declarator (function_declarator declarator: (qualified_identifier scope: (_) @container name: (_) @name)))) @definition.method @scope
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @definition.method @scope
(field_declaration declarator: (pointer_declarator (function_declarator declarator: (field_identifier) @name))) @definition.method @scope
(field_declaration declarator: (reference_declarator (function_declarator declarator: (field_identifier) @name))) @definition.method @scope
(alias_declaration name: (type_identifier) @name) @definition.type
(concept_definition name: (identifier) @name) @definition.type

; Names that belong to a function alone.
(compound_statement) @scope
(preproc_params (identifier) @ignored)
(for_statement) @scope
(lambda_expression) @scope
(for_range_loop) @scope
(catch_clause) @scope
(for_range_loop declarator: (identifier) @local)
(for_range_loop declarator: (reference_declarator (identifier) @local))
(parameter_declaration declarator: (identifier) @local)
(parameter_declaration declarator: (reference_declarator (identifier) @local))
(optional_parameter_declaration declarator: (identifier) @local)
(declaration declarator: (init_declarator declarator: (reference_declarator (identifier) @local)))
(structured_binding_declarator (identifier) @local)
(type_parameter_declaration (type_identifier) @ignored)
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
(qualified_identifier scope: (_) @qualifier name: [(identifier) (type_identifier)] @reference)
(identifier) @reference
(type_identifier) @reference

(preproc_include) @import
(using_declaration) @import
