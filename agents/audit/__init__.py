"""The audit without pages: is the record intact, and what would have happened otherwise."""
