"""The socket of a chat page: verbs in, frames out.

It starts runs and follows them; the runtime owns them, so a page that goes away ends nothing.
Handlers return in milliseconds; one task sends (`chat/live.py`).

Close codes of our own: 4401 signed out, 4403 not yours, 4429 too many messages, 4500 a fault of
ours. On the last one a page comes back by itself, on the others it does not.
"""

import logging
from asyncio import CancelledError, Task
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any, TypeVar, assert_never
from uuid import UUID

from autobahn.exception import Disconnected
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth.models import User
from django.db import Error as DatabaseError
from django.urls import reverse

from agents.core.config import ConfigError
from agents.core.tasks import spawn, stop
from agents.models import AgentRun
from agents.runtime import RunRefused
from agents.runtime.home import home
from chat import asking, continuing, conversations, fragments, guests, tree
from chat.asking import Asking, How
from chat.errors import CannotDo, ChatError, NotYours
from chat.live import Live
from chat.models import Conversation
from chat.rates import Bucket
from chat.verbs import (
    Ack,
    AnyVerb,
    Checkout,
    Continue,
    Regenerate,
    Rename,
    Resume,
    Stop,
    Submit,
    Switch,
    understood,
)

log = logging.getLogger(__name__)
T = TypeVar("T")

SIGNED_OUT, NOT_YOURS, TOO_MANY, OUR_FAULT = 4401, 4403, 4429, 4500
BURST, PER_SECOND, PATIENCE = 30, 3.0, 60
"""Messages at once, messages a second after that, and how many more before the socket is closed."""


class ChatConsumer(AsyncWebsocketConsumer):
    channel_layer_alias = "none"  # sockets need no layer: hints come to the process, by its runtime

    user: User
    conversation_id: UUID
    live: Live

    def __init__(self) -> None:
        super().__init__()
        self._following: Task[None] | None = None
        self._stay = ExitStack()
        self._bucket = Bucket(BURST, PER_SECOND)
        self._ignored = 0
        self._is_out = False

    async def dispatch(self, message: dict[str, Any]) -> None:
        """As channels does it, but without a thread before every message, and with an end to it."""
        try:
            match message["type"]:
                case "websocket.connect":
                    await self.connect()
                case "websocket.receive":
                    await self._hear(message.get("text"))
                case "websocket.disconnect":
                    await self._leave()
                    raise StopConsumer
        except (StopConsumer, CancelledError):
            raise
        except Exception:
            log.exception("a chat socket failed")
            await self.close(code=OUR_FAULT)

    async def connect(self) -> None:
        """Accepted first: a page that is refused before sees only a broken connection."""
        await self.accept()
        self.conversation_id = self.scope["url_route"]["kwargs"]["conversation_id"]
        user = await self._work(self._visitor)
        if user is None:
            await self._show_out()
            return
        self.user = user
        if not await self._work(self._may_be_here):
            await self._say("There is no such conversation of yours.")
            await self.close(code=NOT_YOURS)
            return
        if guests.pages_of(user.pk) >= guests.MOST_PAGES:
            await self._say("You have too many pages open. Close some, then reload this one.")
            await self.close(code=TOO_MANY)
            return
        session_key = self.scope["session"].session_key or ""
        guest = guests.Guest(user.pk, user.password, session_key, self._show_out)
        self._stay.enter_context(guests.here(guest))
        self.live = Live(home(), user, self.conversation_id, self._send_frame)

    def _visitor(self) -> User | None:
        """Who has signed in, as a row: the scope holds a promise of one."""
        promised = self.scope["user"]
        return User.objects.filter(pk=promised.pk).first() if promised is not None else None

    def _may_be_here(self) -> bool:
        """The conversation is theirs, or nobody's: it begins with its first question."""
        if conversations.of(self.user).filter(pk=self.conversation_id).exists():
            return True
        return not Conversation.everything.filter(pk=self.conversation_id).exists()

    async def _leave(self) -> None:
        self._stay.close()
        if self._following is not None:
            await stop([self._following], 1.0)

    async def _show_out(self) -> None:
        self._is_out = True
        await self._say("You are signed out. Sign in again to go on; your text is kept.")
        self._stay.close()
        await self.close(code=SIGNED_OUT)

    # -- verbs ------------------------------------------------------------------------------------

    async def _hear(self, text: str | None) -> None:
        if self._is_out or not hasattr(self, "live"):
            return
        try:
            verb = _verb(text)
            if not isinstance(verb, Ack) and not self._bucket.take():
                await self._slow_down()
            elif isinstance(verb, CannotDo):
                raise verb
            else:
                await self._do(verb)
        except (ChatError, RunRefused, ConfigError) as error:
            await self._say(_sentence(error))
        except DatabaseError as error:
            log.warning("a verb could not be done: %s", error)
            await self._say("The database does not answer. Try again in a moment.")

    async def _slow_down(self) -> None:
        self._ignored += 1
        if self._ignored > PATIENCE:
            await self.close(code=TOO_MANY)
        else:
            await self._say("Too many messages at once. Wait a moment, then try again.")

    async def _do(self, verb: AnyVerb) -> None:
        match verb:
            case Submit():
                await self._start(lambda: self._asked(verb), verb.client_message_id)
            case Regenerate():
                how = How(client_message_id=verb.client_message_id)
                await self._start(
                    lambda: asking.regenerate(self.user, self._here(verb.exchange), how)
                )
            case Continue():
                await self._start(lambda: self._continued(verb))
            case Stop():
                await self._stop()
            case Resume():
                await self._resume(verb)
            case Switch(exchange=exchange):
                await self._work(lambda: tree.switch(self._conversation(), exchange))
                home().nudge(self.conversation_id)
            case Checkout(exchange=exchange):
                await self._work(lambda: tree.checkout(self._conversation(), exchange))
                home().nudge(self.conversation_id)
            case Rename(title=title):
                await self._work(lambda: conversations.rename(self._conversation(), title))
                home().nudge(self.conversation_id)
            case Ack(frames=frames):
                self.live.ack(frames)
            case _:
                assert_never(verb)

    async def _resume(self, verb: Resume) -> None:
        await self.live.resume(verb.head or None, verb.live)
        if self._following is None:
            self._following = spawn(self._follow(), "chat page")

    async def _follow(self) -> None:
        try:
            await self.live.follow()
        except Exception:
            log.exception("a page cannot be followed")
            await self.close(code=OUR_FAULT)

    async def _start(self, prepare: Callable[[], Asking], message_id: str = "") -> None:
        asked = await self._work(prepare)
        run = await home().start(asked.request, asked.attach)
        address = reverse("conversation", args=[run.conversation_key])
        await self.send(fragments.render("ack", message=message_id, url=address))
        home().nudge(self.conversation_id)

    def _asked(self, verb: Submit) -> Asking:
        how = How(
            tree=verb.tree or None,
            model=verb.model or None,
            client_message_id=verb.client_message_id,
        )
        if verb.edits:
            return asking.edit(self.user, self._here(verb.edits), verb.question, how)
        if Conversation.everything.filter(pk=self.conversation_id).exists():
            key = self.conversation_id
            return asking.ask(self.user, verb.question, conversation_id=key, how=how)
        project_id = self.scope["url_route"]["kwargs"]["project_id"]
        return asking.begin(
            self.user, project_id, verb.question, conversation_id=self.conversation_id, how=how
        )

    def _continued(self, verb: Continue) -> Asking:
        overrides = {verb.limit: verb.value} if verb.limit and verb.value is not None else {}
        how = How(overrides=overrides, client_message_id=verb.client_message_id)
        return continuing.continue_run(
            self.user, self._here(verb.run), how=how, save_as_default=bool(verb.save)
        )

    async def _stop(self) -> None:
        """Whatever is going on here, also if this page does not know of it yet."""
        active = await self._work(
            lambda: list(
                AgentRun.objects.filter(
                    user=self.user, conversation_key=self.conversation_id, outcome__isnull=True
                ).values_list("pk", flat=True)
            )
        )
        for run_id in active:
            await home().cancel(run_id)

    async def send(self, *args: Any, **kwargs: Any) -> None:
        """A page may leave while it is being told something; we hear of it in a moment."""
        try:
            await super().send(*args, **kwargs)
        except Disconnected:
            self._is_out = True

    async def close(self, *args: Any, **kwargs: Any) -> None:
        self._is_out = True
        with suppress(Disconnected):
            await super().close(*args, **kwargs)

    # -- help -------------------------------------------------------------------------------------

    def _conversation(self) -> Conversation:
        return conversations.get(self.user, self.conversation_id)

    def _here(self, context_id: UUID) -> UUID:
        """An exchange or run of this conversation; others are not this page's to touch."""
        found = conversations.get_exchange(self.user, context_id)
        if found.conversation_id != self.conversation_id:
            raise NotYours("That exchange is not in this conversation.")
        return context_id

    async def _say(self, sentence: str) -> None:
        await self.send(fragments.render("flash", text=sentence))

    async def _send_frame(self, frame: str) -> None:
        """As `send`, without the layers that it passes for every frame."""
        try:
            await self.base_send({"type": "websocket.send", "bytes": None, "text": frame})
        except Disconnected:
            self._is_out = True

    async def _work(self, work: Callable[[], T]) -> T:
        return await home().work(work)


def _verb(text: str | None) -> AnyVerb | CannotDo:
    """What was said, or why it was not understood: both count as a message."""
    if text is None:
        return CannotDo("That message could not be read.")
    try:
        return understood(text)
    except CannotDo as error:
        return error


def _sentence(error: ChatError | RunRefused | ConfigError) -> str:
    return " ".join(error.problems.values()) if isinstance(error, ConfigError) else str(error)
