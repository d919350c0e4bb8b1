"""Prepare a site as `make run` does, in one process: python -m tests.support.fresh."""

import django
from django.core.management import call_command

if __name__ == "__main__":
    django.setup()
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
