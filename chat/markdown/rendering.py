"""One block to HTML that is safe to put into the page."""

import logging
from collections.abc import Sequence
from typing import assert_never

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from agents.core.sanitize import replace_unstorable
from chat.markdown import plugins
from chat.markdown.blocks import Block, CodeBlock, PlainBlock, ProseBlock
from chat.markdown.highlight import HIGHLIGHT_CLASSES, LANGUAGES, escape, render_code
from chat.markdown.plugins import LinkResolver

logger = logging.getLogger(__name__)

ALLOWED_TAGS = frozenset(
    {"a", "blockquote", "br", "code", "div", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p"}
    | {"pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"}
)
_ALIGN = {"center", "left", "right"}
ALLOWED_CLASSES = {
    "a": {"cite"},
    "code": {f"language-{name}" for name in LANGUAGES},
    "div": {"code", "code-head", "more", "table"},
    "li": {"task"},
    "ol": {"more"},
    "p": {"plain"},
    "span": set(HIGHLIGHT_CLASSES),
    "table": {"more"},
    "td": _ALIGN,
    "th": _ALIGN,
    "ul": {"more"},
}
_FOCUS = {"tabindex": {"0"}}
"""For what may be wider than the page: who has no pointer scrolls it with the arrow keys."""
_cleaner = nh3.Cleaner(
    tags=set(ALLOWED_TAGS),
    clean_content_tags=set(),
    attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
    tag_attribute_values={"a": {"target": {"_blank"}}, "div": _FOCUS, "pre": _FOCUS},
    allowed_classes=ALLOWED_CLASSES,
    url_schemes=set(plugins.ALLOWED_SCHEMES),
    link_rel="noopener noreferrer nofollow",
)


class BlockRenderer(RendererHTML):
    """The elements that are ours."""

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        return render_code(token.info, token.content, colours=env["colours"])

    def code_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        return render_code("", tokens[idx].content)

    def list_item_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Open an item. The box of a task is a character: an answer has no form fields."""
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
        return plugins.is_allowed_url(url)


def build_parser(renderer: type[BlockRenderer] = BlockRenderer) -> MarkdownIt:
    """Return a parser of CommonMark with our rules."""
    options = {
        "html": False,
        "xhtmlOut": False,
        "tasklists": True,
        "maxNesting": plugins.MAX_NESTING,
    }
    md = _Parser("commonmark", options, renderer_cls=renderer)
    md.enable(["table", "strikethrough"])
    md.disable(["reference", "html_block", "html_inline"])
    plugins.install(md)
    return md


_md = build_parser()


def render_block(block: Block, link: LinkResolver | None = None, *, colours: bool = True) -> str:
    """Render a block; nh3 has the last word. What fails is shown as it was written."""
    try:
        return (
            render_plain(block.text)
            if isinstance(block, PlainBlock)
            else sanitize(_render_html(block, link, colours))
        )
    except plugins.NestingTooDeep:
        return render_plain(block.text)
    except Exception:
        logger.exception("A block of an answer could not be rendered")
        return render_plain(block.text)


def _render_html(block: ProseBlock | CodeBlock, link: LinkResolver | None, colours: bool) -> str:
    text = replace_unstorable(block.text)
    match block:
        case CodeBlock(info=info, more=more):
            is_coloured = colours and block.colours
            return render_code(replace_unstorable(info), text, more=more, colours=is_coloured)
        case ProseBlock(more=more, number=number):
            env = {"link": link, "colours": colours, "more": more, "number": number}
            return str(_md.render(text, env))
        case _:
            assert_never(block)


def render_plain(text: str) -> str:
    """Render as written, with its lines: the style sheet keeps them without an element each."""
    return sanitize(f'<p class="plain">{escape(replace_unstorable(text)).rstrip()}</p>\n')


def sanitize(html: str) -> str:
    return _cleaner.clean(html)
