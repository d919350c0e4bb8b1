"""A registry refuses duplicates and latecomers, and says what there is."""

import pytest

from agents.core.registry import NotRegistered, RegistrationError, Registry


@pytest.fixture
def registry() -> Registry[object]:
    registry: Registry[object] = Registry("gadget")
    registry.register("lamp", RegistrationError)
    registry.register("fan", NotRegistered)
    return registry


def test_names_keep_the_order_of_registration(registry: Registry[object]) -> None:
    assert registry.names() == ("lamp", "fan")
    assert dict(registry) == {"lamp": RegistrationError, "fan": NotRegistered}
    assert "lamp" in registry
    assert "door" not in registry


def test_a_duplicate_is_refused_and_both_places_are_named(registry: Registry[object]) -> None:
    with pytest.raises(RegistrationError) as refusal:
        registry.register("lamp", NotRegistered)
    assert "gadget 'lamp' is registered twice" in str(refusal.value)
    assert "agents.core.registry.RegistrationError" in str(refusal.value)
    assert "agents.core.registry.NotRegistered" in str(refusal.value)
    assert registry.get("lamp") is RegistrationError


def test_a_closed_registry_refuses_and_keeps_what_it_has(registry: Registry[object]) -> None:
    registry.close()
    with pytest.raises(RegistrationError, match="gadget 'door' is registered too late"):
        registry.register("door", object)
    assert registry.names() == ("lamp", "fan")


def test_an_unknown_name_is_answered_with_the_known_ones(registry: Registry[object]) -> None:
    with pytest.raises(NotRegistered, match=r"no gadget 'door'\. Known: lamp, fan"):
        registry.get("door")


def test_an_empty_registry_says_so() -> None:
    with pytest.raises(NotRegistered, match="Known: none"):
        Registry[object]("gadget").get("door")


def test_an_internal_entry_is_found_but_not_named(registry: Registry[object]) -> None:
    registry.register("fuse", object, internal=True)
    assert registry.get("fuse") is object
    assert "fuse" in registry
    assert registry.is_internal("fuse")
    assert not registry.is_internal("lamp")
    assert registry.names() == ("lamp", "fan")
    with pytest.raises(NotRegistered, match=r"Known: lamp, fan\."):
        registry.get("door")
    with pytest.raises(RegistrationError, match="registered twice"):
        registry.register("fuse", object)
