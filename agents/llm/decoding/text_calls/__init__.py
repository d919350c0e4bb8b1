"""Tool calls that models write as text. One file per family; `scanner` puts them together."""

# isort: off
from agents.llm.decoding.text_calls import hermes, invoke, deepseek, function_tags  # they register

# isort: on
from agents.llm.decoding.text_calls.base import TextCall
from agents.llm.decoding.text_calls.registry import FAMILIES, text_call_family
from agents.llm.decoding.text_calls.scanner import TextCallScanner

__all__ = [
    "FAMILIES",
    "TextCall",
    "TextCallScanner",
    "deepseek",
    "function_tags",
    "hermes",
    "invoke",
    "text_call_family",
]
