"""An example of a package outside `agents` that brings its own decision tree.

Put such a package into INSTALLED_APPS: its `decision_trees` module is imported at start-up.
"""
