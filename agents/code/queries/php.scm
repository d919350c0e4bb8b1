; Definitions.
(function_definition name: (name) @name) @definition.function @scope
(class_declaration name: (name) @name) @definition.class
(interface_declaration name: (name) @name) @definition.interface
(trait_declaration name: (name) @name) @definition.class
(enum_declaration name: (name) @name) @definition.enum
(enum_case name: (name) @name) @definition.constant
(method_declaration name: (name) @name) @definition.method @scope
(property_element name: (variable_name (name) @name)) @definition.field
(property_promotion_parameter name: (variable_name (name) @name)) @definition.field
(const_element . (name) @name) @definition.module_constant

; Names that belong to a function alone have a sign of their own, and are not looked at.

; Uses.
(member_call_expression object: (_) @qualifier name: (name) @reference)
(nullsafe_member_call_expression object: (_) @qualifier name: (name) @reference)
(member_access_expression object: (_) @qualifier name: (name) @reference)
(scoped_call_expression scope: (_) @qualifier name: (name) @reference)
(scoped_property_access_expression scope: (_) @qualifier name: (variable_name (name) @reference))
(class_constant_access_expression . (_) @qualifier (name) @reference)
(function_call_expression function: (name) @reference)
(qualified_name (name) @reference)
(object_creation_expression (name) @reference)
(named_type (name) @reference)
(base_clause (name) @reference)
(class_interface_clause (name) @reference)
(scoped_call_expression scope: (name) @reference)
(class_constant_access_expression . (name) @reference)
(attribute (name) @reference)
(use_declaration (name) @reference)

(namespace_use_declaration) @import
(include_expression) @import
(include_once_expression) @import
(require_expression) @import
(require_once_expression) @import
