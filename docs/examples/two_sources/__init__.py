"""An example of a package that extends Oracle: a tree, a tool with its own card, an observer, a
subscriber and a rule.

Name such a package in ORACLE_APPS: its modules `decision_trees`, `tools`, `observers`,
`subscribers` and `rules` are imported at start-up, and its folder `templates` is searched.
"""
