"""Texts as terms: folding, stems, scripts without spaces, compounds."""

import pytest

from agents.search.analysis import MAX_QUERY_WORDS, MAX_TERM_CHARS, analyse, parse_query


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Permits of the Quay", "permit of the quai"),
        ("Häfen und Häuser", "haf und haus"),
        ("Cafe\u0301 = Café", "caf caf"),
        ("select_related(user.name)", "select relat user nam"),
        ("Bild\u00adschirm", "bildschirm"),
        ("the harbour's don't", "the harbour dont"),
        ("'quay' o''clock ' rock'n'roll'", "quai o clock rocknroll"),
        ("東京都", "東 京 都 東京 京都"),
        ("PDF文件2", "pdf 文 件 文件 2"),
        ("서울에서", "서 울 에 서 서울 울에 에서"),
        ("हिन्दी", "हिनदी"),
        ("⑴ ½ l\u2019eau", "1 1\u20442 leau"),
        ("\x00\ud800 <>&\"'", ""),
    ],
)
def test_a_text_is_read_as_terms(text: str, terms: str) -> None:
    assert analyse(text) == (f" {terms} " if terms else "")


def test_no_term_is_longer_than_a_row_can_take() -> None:
    assert max(map(len, analyse("x" * 5_000 + " " + "ä" * 5_000).split())) == MAX_TERM_CHARS


def test_stop_words_are_fillers() -> None:
    telling = [word.written for word in parse_query("Was is the permit für?") if not word.is_filler]
    assert telling == ["permit"]


def test_stop_words_alone_are_looked_for() -> None:
    assert not any(word.is_filler for word in parse_query("to be or not to be"))


def test_a_word_is_looked_for_once() -> None:
    assert [word.written for word in parse_query("permit Permits permit")] == ["permit"]


def test_a_long_query_is_cut() -> None:
    assert len(parse_query(" ".join(f"word{number}" for number in range(500)))) == MAX_QUERY_WORDS


def test_pairs_of_letters_are_the_words_where_no_spaces_are() -> None:
    (word,) = parse_query("東京都")
    assert word.terms == ("東京", "京都")
    assert word.part_lists == (("東",), ("京",), ("都",))


def test_a_compound_may_begin_and_end_with_known_words() -> None:
    (word,) = parse_query("Hafengebühren")
    heads, tails = word.part_lists
    assert "haf" in heads
    assert "gebuhr" in tails
