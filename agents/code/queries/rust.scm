; Definitions. An `impl` holds methods without being a definition.
(function_item name: (identifier) @name) @definition.function @scope
(function_signature_item name: (identifier) @name) @definition.function @scope
(struct_item name: (type_identifier) @name) @definition.class
(union_item name: (type_identifier) @name) @definition.class
(enum_item name: (type_identifier) @name) @definition.enum
(enum_variant name: (identifier) @name) @definition.constant
(trait_item name: (type_identifier) @name) @definition.interface
(type_item name: (type_identifier) @name) @definition.type
(associated_type name: (type_identifier) @name) @definition.type
(mod_item name: (identifier) @name body: (_)) @definition.module
(const_item name: (identifier) @name) @definition.module_constant
(static_item name: (identifier) @name) @definition.module_constant
(field_declaration name: (field_identifier) @name) @definition.field
(macro_definition name: (identifier) @name) @definition.macro
(impl_item type: [
  (type_identifier) @name
  (generic_type type: (type_identifier) @name)
  (scoped_type_identifier name: (type_identifier) @name)]) @container.scope

; Names that belong to a function alone.
(closure_expression) @scope
(block) @scope
(match_arm) @scope
(for_expression) @scope
(if_expression) @scope
(parameter pattern: (identifier) @local)
(parameter pattern: (mut_pattern (identifier) @local))
(closure_parameters (identifier) @local)
(let_declaration pattern: (identifier) @local)
(let_declaration pattern: (tuple_pattern (identifier) @local))
(tuple_struct_pattern type: (_) (identifier) @local)
(for_expression pattern: (identifier) @local)
(match_pattern (identifier) @ignored)
(type_parameter name: (type_identifier) @ignored)

; Uses.
(scoped_identifier path: (_) @qualifier name: (identifier) @reference)
(scoped_type_identifier path: (_) @qualifier name: (type_identifier) @reference)
(field_expression value: (_) @qualifier field: (field_identifier) @reference)
(macro_invocation macro: (identifier) @reference)
(identifier) @reference
(type_identifier) @reference

(use_declaration) @import
(mod_item name: (identifier) !body) @import
