"""Words that templates of the audit need."""
