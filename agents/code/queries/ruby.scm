; Definitions.
(method name: (_) @name) @definition.function @scope
(singleton_method name: (_) @name) @definition.method @scope
(alias name: (_) @name) @definition.function
(class name: [(constant) @name (scope_resolution name: (_) @name)]) @definition.class
(module name: [(constant) @name (scope_resolution name: (_) @name)]) @definition.module
(assignment left: (constant) @name) @definition.module_constant
(assignment left: (global_variable) @name) @definition.variable
(call method: (identifier) @_attr arguments: (argument_list (simple_symbol) @name)
  (#any-of? @_attr "attr_reader" "attr_writer" "attr_accessor" "attribute")) @definition.field

; Names that belong to a function alone.
(block) @scope
(do_block) @scope
(lambda) @scope
(method_parameters (identifier) @local)
(block_parameters (identifier) @local)
(lambda_parameters (identifier) @local)
(optional_parameter name: (identifier) @local)
(keyword_parameter name: (identifier) @local)
(splat_parameter name: (identifier) @local)
(hash_splat_parameter name: (identifier) @local)
(block_parameter name: (identifier) @local)
(assignment left: (identifier) @local)
(operator_assignment left: (identifier) @local)
(left_assignment_list (identifier) @local)
(exception_variable (identifier) @local)

; Uses.
(call receiver: (_) @qualifier method: [(identifier) (constant)] @reference)
(scope_resolution scope: (_) @qualifier name: (constant) @reference)
(identifier) @reference
(constant) @reference

(call method: (identifier) @_require (#any-of? @_require "require" "require_relative" "load")) @import
