; Definitions.
(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(annotation_type_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(enum_constant name: (identifier) @name) @definition.constant
(method_declaration name: (identifier) @name) @definition.method @scope
(constructor_declaration name: (identifier) @name) @definition.method @scope
(compact_constructor_declaration name: (identifier) @name) @definition.method @scope
(annotation_type_element_declaration name: (identifier) @name) @definition.method
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.field
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.field
(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @name) @definition.field))

; Names that belong to a function alone.
(lambda_expression) @scope
(block) @scope
(for_statement) @scope
(enhanced_for_statement) @scope
(catch_clause) @scope
(formal_parameter name: (identifier) @local)
(lambda_expression parameters: (identifier) @local)
(inferred_parameters (identifier) @local)
(local_variable_declaration declarator: (variable_declarator name: (identifier) @local))
(enhanced_for_statement name: (identifier) @local)
(catch_formal_parameter name: (identifier) @local)
(resource name: (identifier) @local)
(instanceof_expression name: (identifier) @local)
(type_parameter (type_identifier) @ignored)

; Uses.
(method_invocation object: (_) @qualifier name: (identifier) @reference)
(field_access object: (_) @qualifier field: (identifier) @reference)
(scoped_type_identifier (_) @qualifier "." (type_identifier) @reference)
(identifier) @reference
(type_identifier) @reference

(import_declaration) @import
(package_declaration (_ (identifier) @ignored))
