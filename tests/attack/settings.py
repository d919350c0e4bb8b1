"""The site's settings, with doors for the attack beside its pages. For tests only.

Passwords are hashed as in production: what that costs is one of the attacks.
"""

from oracle_site.settings import *  # noqa: F403  # settings are names in a module
from tests.attack import resolver

ROOT_URLCONF = "tests.attack.urls"
resolver.install()
