"""Lanes are chosen by person where one is known, else by address."""

from agents.web.throttling import KnownPeople


def test_who_is_not_known_has_the_lane_of_their_address() -> None:
    known = KnownPeople()
    known.remember("session", 7)
    assert known.find("session", "192.0.2.1") == 7
    assert known.find("made up", "192.0.2.1") == "192.0.2.1"


def test_what_is_no_good_any_more_has_the_lane_of_whoever_uses_it() -> None:
    known = KnownPeople()
    known.remember("session", 7)
    known.remember("session", None)
    assert known.find("session", "192.0.2.1") == "192.0.2.1"


def test_those_not_seen_for_longest_are_forgotten_when_there_are_too_many() -> None:
    known = KnownPeople(max_size=3)
    for number in (1, 2, 3):
        known.remember(str(number), number)
    known.remember("1", 1)
    known.remember("4", 4)
    assert [known.find(str(number), "") for number in (1, 2, 3, 4)] == [1, "", 3, 4]
