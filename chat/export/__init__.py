"""A conversation to take away, as Markdown or JSON: an iterator of text, read in batches."""

from chat.export.json_format import json_document
from chat.export.markdown_format import markdown_document

__all__ = ["json_document", "markdown_document"]
