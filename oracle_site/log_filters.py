"""Filters for what the log leaves out."""

import logging
import re

from django.core.exceptions import PermissionDenied

_LINK_SECRET = re.compile(r"(/(?:invite|sign-in/[^/\s]+)/)[^/\s]+")
"""Addresses that let in whoever knows them, up to what must not be known."""


class SuppressTracebackFilter(logging.Filter):
    """Requests that are refused as suspicious, or because a permission is missing, are a line each:
    anybody can send thousands, and a traceback of our own code says nothing about them."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if record.name.startswith("django.security") or isinstance(error, PermissionDenied):
            record.exc_info = record.exc_text = None
        return True


class HideLinksFilter(logging.Filter):
    """Refusals are logged with their address, and a link that was refused may still work: a form
    with a mistake in it, or a preview that only asked what there is."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            said = record.getMessage()
        except Exception:  # arguments that do not fit: whoever writes the line says so
            return True
        hidden = _LINK_SECRET.sub(r"\1[hidden]", said)
        if hidden != said:
            record.msg, record.args = hidden, None
        return True
