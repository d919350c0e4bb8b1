"""What the log leaves out."""

import logging


class SuppressTracebackFilter(logging.Filter):
    """Requests that are refused as suspicious are a line each: anybody can send them by the
    thousand, and a traceback of our own code says nothing about them."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("django.security"):
            record.exc_info = record.exc_text = None
        return True
