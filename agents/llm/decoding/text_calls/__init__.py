"""Tool calls that models write as text. One file per family; `scanner` puts them together."""

from agents.llm.decoding.text_calls.base import TextCall
from agents.llm.decoding.text_calls.scanner import TextCallScanner

__all__ = ["TextCall", "TextCallScanner"]
