; Definitions. A function in a class is a method, a variable in a function is none.
(function_declaration name: (identifier) @name) @definition.function @scope
(generator_function_declaration name: (identifier) @name) @definition.function @scope
(function_signature name: (identifier) @name) @definition.function @scope
(class_declaration name: (type_identifier) @name) @definition.class
(abstract_class_declaration name: (type_identifier) @name) @definition.class
(class name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(type_alias_declaration name: (type_identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.enum
(enum_body name: (property_identifier) @name @definition.constant)
(enum_assignment name: (property_identifier) @name) @definition.constant
(internal_module name: (_) @name) @definition.module
(module name: (_) @name) @definition.module
(method_definition name: [(property_identifier) (private_property_identifier) (string) (number) (computed_property_name)] @name) @definition.method @scope
(method_signature name: [(property_identifier) (private_property_identifier) (string) (number) (computed_property_name)] @name) @definition.method @scope
(abstract_method_signature name: (_) @name) @definition.method @scope
(public_field_definition name: [(property_identifier) (private_property_identifier) (string) (number) (computed_property_name)] @name) @definition.field
(property_signature name: [(property_identifier) (private_property_identifier) (string) (number) (computed_property_name)] @name) @definition.field
(required_parameter (accessibility_modifier) pattern: (identifier) @name) @definition.field
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @definition.assigned_function
(variable_declarator name: (identifier) @name) @definition.variable
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @name)) @definition.variable
(variable_declarator name: (object_pattern (pair_pattern value: (identifier) @name))) @definition.variable
(variable_declarator name: (array_pattern (identifier) @name)) @definition.variable

; Names that belong to a function alone.
(function_type) @scope
(constructor_type) @scope
(call_signature) @scope
(construct_signature) @scope
(arrow_function) @scope
(function_expression) @scope
(function_expression name: (identifier) @local)
(generator_function) @scope
(generator_function name: (identifier) @local)
(statement_block) @scope
(for_statement) @scope
(for_in_statement) @scope
(catch_clause) @scope
(arrow_function parameter: (identifier) @local)
(required_parameter pattern: (identifier) @local)
(optional_parameter pattern: (identifier) @local)
(rest_pattern (identifier) @local)
(variable_declarator name: (identifier) @local)
(for_in_statement left: (identifier) @local)
(catch_clause parameter: (identifier) @local)
(shorthand_property_identifier_pattern) @local
(pair_pattern value: (identifier) @local)
(array_pattern (identifier) @local)
(object_assignment_pattern left: (shorthand_property_identifier_pattern) @local)
(type_parameter name: (type_identifier) @ignored)

; Uses.
(member_expression object: (_) @qualifier property: (property_identifier) @reference)
(nested_type_identifier module: (_) @qualifier name: (type_identifier) @reference)
(identifier) @reference
(type_identifier) @reference
(shorthand_property_identifier) @reference

(import_statement) @import
(export_statement source: (string)) @import
(variable_declarator name: (_) value: (call_expression function: (identifier) @_require (#eq? @_require "require"))) @import
