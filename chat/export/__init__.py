"""A conversation to take away, as Markdown or JSON: an iterator of text, read in batches."""

from chat.export.as_json import json_document
from chat.export.as_markdown import markdown_document

__all__ = ["json_document", "markdown_document"]
