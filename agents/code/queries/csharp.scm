; Definitions.
(class_declaration name: (identifier) @name) @definition.class
(struct_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(enum_member_declaration name: (identifier) @name) @definition.constant
(delegate_declaration name: (identifier) @name) @definition.type
(method_declaration name: (identifier) @name) @definition.method @scope
(constructor_declaration name: (identifier) @name) @definition.method @scope
(destructor_declaration name: (identifier) @name) @definition.method @scope
(local_function_statement name: (identifier) @name) @definition.function @scope
(property_declaration name: (identifier) @name) @definition.field
(event_declaration name: (identifier) @name) @definition.field
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.field
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.field
(record_declaration (parameter_list (parameter name: (identifier) @name) @definition.field))

; Names that belong to a function alone.
(lambda_expression) @scope
(block) @scope
(for_statement) @scope
(foreach_statement) @scope
(catch_clause) @scope
(parameter name: (identifier) @local)
(implicit_parameter) @local
(local_declaration_statement (variable_declaration (variable_declarator name: (identifier) @local)))
(foreach_statement left: (identifier) @local)
(catch_declaration name: (identifier) @local)
(declaration_expression name: (identifier) @local)
(declaration_pattern name: (identifier) @local)
(type_parameter name: (identifier) @ignored)

; Uses.
(member_access_expression expression: _ @qualifier name: (identifier) @reference)
(member_access_expression expression: _ @qualifier name: (generic_name (identifier) @reference))
(qualified_name qualifier: (_) @qualifier name: (identifier) @reference)
(identifier) @reference

(using_directive) @import
(namespace_declaration name: (_) @ignored)
(file_scoped_namespace_declaration name: (_) @ignored)
