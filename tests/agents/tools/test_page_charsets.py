"""Charsets of pages."""

import pytest

from agents.tools.page_charsets import decode_body, find_codec


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("ü".encode(), "text/html", "ü"),
        ("ü".encode("latin-1"), "text/html", "ü"),
        ("ü€".encode("cp1252"), "text/html; charset=ISO-8859-1", "ü€"),
        ("привет".encode("koi8-r"), 'text/html; charset="KOI8-R"', "привет"),
        ("日本".encode("shift_jis"), "text/html; charset=Shift_JIS", "日本"),
        (b"<meta charset=koi8-r>" + "да".encode("koi8-r"), "text/html", "<meta charset=koi8-r>да"),
        ("\ufeffü".encode(), "text/html; charset=koi8-r", "ü"),
        ("\ufeffü".encode("utf-16-le"), "text/html", "ü"),
        (b"a\xff\xfe", "text/html; charset=utf-8", "a\ufffd\ufffd"),
        (b"a\xff", "text/html; charset=nonsense", "aÿ"),
        (b"a\x81", "text/html", "a\ufffd"),
        (b"\xff\xfea", "text/html", "\ufffd"),
        (b"+AGE-", "text/html; charset=utf-7", "+AGE-"),
        (b"789c", "text/html; charset=zlib", "789c"),
        (b"\\u0061", "text/html; charset=unicode_escape", "\\u0061"),
    ],
)
def test_a_body_is_decoded_by_what_says_so_first_and_never_fails(
    body: bytes, content_type: str, text: str
) -> None:
    assert decode_body(body, content_type) == text


@pytest.mark.parametrize(
    "name", ["", "punycode", "idna", "utf-7", "rot13", "hex", "mbcs", "a\x00b", "..", "é", "x" * 40]
)
def test_what_is_no_charset_of_pages_is_none(name: str) -> None:
    assert find_codec(name) == ""
