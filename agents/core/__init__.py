"""Ring 1: what an agent run is, with no Django and no I/O.

The tree decides, the loop does. Start reading at `loop/run.py`; everything it needs from
outside comes through the protocols in `ports.py`, everything it says goes out as `chunks`.
"""
