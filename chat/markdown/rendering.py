"""One block to HTML that is safe to put into the page."""

import logging
from collections.abc import Sequence
from typing import assert_never

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from agents.core.text import storable
from chat.markdown import rules
from chat.markdown.blocks import Block, Code, Prose
from chat.markdown.code import COLOURS, LANGUAGES, code_html, escape
from chat.markdown.rules import Link

log = logging.getLogger(__name__)

TAGS = frozenset(
    {"a", "blockquote", "br", "code", "div", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p"}
    | {"pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"}
)
_ALIGN = {"center", "left", "right"}
CLASSES = {
    "a": {"cite"},
    "code": {f"language-{name}" for name in LANGUAGES},
    "div": {"code", "code-head", "more", "table"},
    "li": {"task"},
    "ol": {"more"},
    "span": set(COLOURS),
    "table": {"more"},
    "td": _ALIGN,
    "th": _ALIGN,
    "ul": {"more"},
}
_FOCUS = {"tabindex": {"0"}}
"""For what may be wider than the page: who has no pointer scrolls it with the arrow keys."""
_cleaner = nh3.Cleaner(
    tags=set(TAGS),
    clean_content_tags=set(),
    attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
    tag_attribute_values={"a": {"target": {"_blank"}}, "div": _FOCUS, "pre": _FOCUS},
    allowed_classes=CLASSES,
    url_schemes=set(rules.SCHEMES),
    link_rel="noopener noreferrer nofollow",
)


class _Renderer(RendererHTML):
    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        return code_html(token.info, token.content, colours=env["colours"])

    def code_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        return code_html("", tokens[idx].content)

    def list_item_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """The box of a task is a character: an answer has no form fields."""
        box = {True: "\N{BALLOT BOX WITH CHECK} ", False: "\N{BALLOT BOX} ", None: ""}
        item = self.renderToken(tokens, idx, options, env)
        return item + box[tokens[idx].meta.get("checked")]

    def table_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        return '<div class="table" tabindex="0">' + self.renderToken(tokens, idx, options, env)

    def table_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        return self.renderToken(tokens, idx, options, env).rstrip() + "</div>\n"


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802  # the name of the hook
        return rules.allowed(url)


def _parser() -> MarkdownIt:
    options = {"html": False, "xhtmlOut": False, "tasklists": True, "maxNesting": rules.NESTING}
    md = _Parser("commonmark", options, renderer_cls=_Renderer)
    md.enable(["table", "strikethrough"]).disable("reference")
    rules.install(md)
    return md


_md = _parser()


def block_html(block: Block, link: Link | None = None, *, colours: bool = True) -> str:
    """nh3 has the last word. What cannot be rendered is shown as it was written."""
    try:
        return clean(_html(block, link, colours))
    except rules.TooDeep:
        return plain(block.text)
    except Exception:
        log.exception("A block of an answer could not be rendered")
        return plain(block.text)


def _html(block: Block, link: Link | None, colours: bool) -> str:
    text = storable(block.text)
    match block:
        case Code(info=info, more=more):
            return code_html(storable(info), text, more=more, colours=colours)
        case Prose(more=more, number=number):
            env = {"link": link, "colours": colours, "more": more, "number": number}
            return str(_md.render(text, env))
        case _:
            assert_never(block)


def plain(text: str) -> str:
    lines = escape(storable(text)).replace("\n", "<br>\n")
    return clean(f"<p>{lines}</p>\n")


def clean(html: str) -> str:
    return _cleaner.clean(html)
