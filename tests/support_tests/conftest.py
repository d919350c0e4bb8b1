import pytest

from .transports import Door, process_door, socket_door


@pytest.fixture(params=[socket_door, process_door], ids=["socket", "process"])
def door(request: pytest.FixtureRequest) -> Door:
    found: Door = request.param
    return found
