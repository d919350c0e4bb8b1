import pytest

from agents.search.code_analysis import get_identifier_term


@pytest.mark.parametrize(
    ("name", "term"),
    [
        ("read_gauge", "readˍgauge"),
        ("Station.readGauge", "stationreadgauge"),
        ('"><i id=ack data-url=javascript:alert(1)>', "iidackdataurljavascriptalert1"),
        ("a' OR 'b", "aorb"),
        ('"*', ""),
    ],
)
def test_the_term_of_a_name_holds_letters_alone_whatever_is_asked_for(name: str, term: str) -> None:
    assert get_identifier_term(name) == term
