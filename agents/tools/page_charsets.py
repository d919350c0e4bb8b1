"""In which charset a page of the web is written."""

import codecs
import re

_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})""", re.I)
_META_BYTES = 1_024
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_FALLBACK = "cp1252"
_WESTERN = frozenset({"ascii", "iso8859-1"})
"""Pages that say so mean cp1252, as browsers read them."""
_CODECS = re.compile(
    r"utf-8|utf-16(-[lb]e)?|cp125\d|iso8859-\d+|koi8-[ru]|shift_jis|cp932|euc_jp|euc_kr|cp949|"
    r"gb2312|gbk|gb18030|big5|iso2022_jp|mac-roman|tis-620|ascii"
)
"""Python knows others that are no charsets, and some of them take very long."""


def decode_body(body: bytes, content_type: str) -> str:
    """Return the text of a body: by its mark, by what its server or itself says, or as it looks."""
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(codec, "replace")
    meta = _META_CHARSET.search(body[:_META_BYTES])
    declared = _CHARSET.search(content_type)
    named = declared[1] if declared else meta[1].decode() if meta else ""
    if codec := find_codec(named):
        return body.decode(codec, "replace")
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode(_FALLBACK, "replace")


def find_codec(charset: str) -> str:
    """Return the codec of a charset; nothing if it is none that pages are written in."""
    try:
        name = codecs.lookup(charset).name if charset.isascii() and charset else ""
    except (LookupError, ValueError):
        return ""
    if name in _WESTERN:
        return _FALLBACK
    return name if _CODECS.fullmatch(name) else ""
