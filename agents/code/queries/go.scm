; Definitions. Methods name what they belong to themselves.
(function_declaration name: (identifier) @name) @definition.function @scope
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @container
    (pointer_type (type_identifier) @container)
    (generic_type type: (type_identifier) @container)
    (pointer_type (generic_type type: (type_identifier) @container))]))
  name: (field_identifier) @name) @definition.method @scope
(type_spec name: (type_identifier) @name type: (interface_type)) @definition.interface
(type_spec name: (type_identifier) @name) @definition.type
(type_alias name: (type_identifier) @name) @definition.type
(method_elem name: (field_identifier) @name) @definition.method @scope
(field_declaration name: (field_identifier) @name) @definition.field
(const_spec name: (identifier) @name) @definition.module_constant
(var_spec name: (identifier) @name) @definition.variable

; Names that belong to a function alone.
(func_literal) @scope
(function_type) @scope
(block) @scope
(for_statement) @scope
(if_statement) @scope
(parameter_declaration name: (identifier) @local)
(variadic_parameter_declaration name: (identifier) @local)
(short_var_declaration left: (expression_list (identifier) @local))
(range_clause left: (expression_list (identifier) @local))
(var_spec name: (identifier) @local)
(const_spec name: (identifier) @local)
(type_parameter_declaration name: (identifier) @ignored)
(keyed_element . (literal_element (identifier) @ignored))

; Uses.
(selector_expression operand: (_) @qualifier field: (field_identifier) @reference)
(qualified_type package: (_) @qualifier name: (type_identifier) @reference)
(identifier) @reference
(type_identifier) @reference

(import_spec) @import
