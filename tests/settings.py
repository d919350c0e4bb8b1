"""The site's settings, with the example package installed as a third party's would be."""

from oracle_site.settings import *  # noqa: F403  # settings are names in a module
from oracle_site.settings import INSTALLED_APPS as SITE_APPS

INSTALLED_APPS = [*SITE_APPS, "docs.examples.two_sources"]
