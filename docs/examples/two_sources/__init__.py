"""An example of a package that extends Oracle: a decision tree, a tool, and the tool's own card.

Name such a package in ORACLE_APPS: its modules `decision_trees` and `tools` are imported at
start-up, and its folder `templates` is searched.
"""
