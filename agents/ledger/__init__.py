"""The ledger remembers: chunks become rows, and only rows are ever shown.

`writer.py` commits the new events of all runs of a process together; `reader.py` follows a run by
cursor; `store.py` is the SQL of both.
"""
