#!/usr/bin/env python
"""Django's command line for Oracle."""

if __name__ == "__main__":
    from oracle_site.interrupts import end_at_once_on_interrupt

    end_at_once_on_interrupt()

import gc
import os
import sys

if __name__ == "__main__":
    gc.set_threshold(100_000, 20, 20)  # to look for garbage in what is imported costs a tenth of it
    from oracle_site.command_line import run

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oracle_site.settings")
    run(sys.argv)
