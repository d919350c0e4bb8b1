"""Static files under names with a digest, so that browsers may keep them for ever."""

from whitenoise.storage import (  # type: ignore[import-untyped]  # it has no types
    CompressedManifestStaticFilesStorage,
)


class StaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # untyped
    """Put digests into the imports of our JavaScript modules too; they must have no circle.

    Django's own option for that, `support_js_module_import_aggregation`, reads the scripts of all
    packages, and stops at an import in one of them that names no file.
    """

    patterns = (
        *CompressedManifestStaticFilesStorage.patterns,
        ("js/*.js", ((r"""(?P<matched>from "(?P<url>\./[\w.]+)";)""", 'from "%(url)s";'),)),
    )
