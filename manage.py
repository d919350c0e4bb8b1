#!/usr/bin/env python
"""Django's command line for Oracle."""

import os
import sys

from oracle_site.command_line import run

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oracle_site.settings")
    run(sys.argv)
