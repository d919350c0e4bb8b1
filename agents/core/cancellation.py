"""Ask a run to stop, once, from any thread, and hear of it."""

from collections.abc import Callable


class Cancellation:
    """A request to stop that can be made from anywhere in the process, once or many times."""

    def __init__(self) -> None:
        self.requested = False
        self.note = ""
        """Why somebody other than the one who asked wants it to stop."""
        self._callbacks: list[Callable[[], None]] = []

    def request(self, note: str = "") -> None:
        if not self.requested:
            self.requested, self.note = True, note
            for callback in tuple(self._callbacks):
                callback()

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Call `callback` on the first request, or at once if there was one."""
        self._callbacks.append(callback)
        if self.requested:
            callback()

    def unsubscribe(self, callback: Callable[[], None]) -> None:
        self._callbacks.remove(callback)
