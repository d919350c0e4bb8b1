"""The site's settings, with passwords that are hashed at once. For servers of tests only."""

from oracle_site.settings import *  # noqa: F403  # settings are names in a module

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
