"""The socket of a chat page: verbs in, frames out.

It starts runs and follows them; the runtime owns them, so a page that goes away ends nothing.
Handlers return in milliseconds; one task sends (`chat/live/follower.py`).

With which codes it closes is said in `chat/close_codes.py`.
"""

import logging
from asyncio import CancelledError, Task
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any, TypeVar, assert_never
from uuid import UUID

from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth.models import User
from django.db import Error as DatabaseError
from django.urls import reverse

from agents.core.config import ConfigError
from agents.core.tasks import spawn, stop
from agents.models import AgentRun
from agents.runtime import ConversationBusy, RunRefused, describe_silence, get_runtime
from agents.web.throttling import TokenBucket
from chat import close_codes
from chat.conversations import commands, queries, tree
from chat.errors import ChatError, InvalidAction, NotFoundForUser
from chat.live import sessions
from chat.live.commands import (
    Ack,
    AnyCommand,
    Checkout,
    Continue,
    Regenerate,
    RenameConversation,
    ResumePage,
    Stop,
    Submit,
    Switch,
    parse_message,
)
from chat.live.follower import ConversationFollower
from chat.models import Conversation
from chat.rendering import fragments
from chat.services import ask, continue_run
from chat.services.ask import PreparedRun, RunOptions

logger = logging.getLogger(__name__)
T = TypeVar("T")

BURST, PER_SECOND, MAX_IGNORED = 30, 3.0, 60
"""Messages at once, messages a second after that, and how many more before the socket is closed."""
ACK_BURST, ACKS_PER_SECOND = 30, 5.0
"""The same of acknowledgements, which no person writes: a page sends one for every 32 frames."""


class ChatConsumer(AsyncWebsocketConsumer):
    channel_layer_alias = "none"  # sockets need no layer: hints come to the process, by its runtime

    user: User
    conversation_id: UUID
    follower: ConversationFollower

    def __init__(self) -> None:
        super().__init__()
        self._follow_task: Task[None] | None = None
        self._exit_stack = ExitStack()
        self._bucket = TokenBucket(BURST, PER_SECOND)
        self._ack_bucket = TokenBucket(ACK_BURST, ACKS_PER_SECOND)
        self._ignored = 0
        self._is_closed = False

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Dispatch as channels does, but without a thread before every message, and with an end."""
        try:
            match message["type"]:
                case "websocket.connect":
                    await self.connect()
                case "websocket.receive":
                    await self._on_message(message.get("text"))
                case "websocket.disconnect":
                    await self._on_disconnect()
                    raise StopConsumer
        except (StopConsumer, CancelledError):
            raise
        except Exception:
            logger.exception("a chat socket failed")
            await self.close(code=close_codes.SERVER_ERROR)

    async def connect(self) -> None:
        """Accept first: a page that is refused before sees only a broken connection."""
        await self.accept()
        self.conversation_id = self.scope["url_route"]["kwargs"]["conversation_id"]
        user = await self._run_db(self._load_user)
        if user is None:
            await self._sign_out()
            return
        self.user = user
        wanted: UUID = self.scope["url_route"]["kwargs"]["project_id"]
        try:
            project_id = await self._run_db(
                lambda: queries.get_project_id(user, self.conversation_id, wanted)
            )
        except NotFoundForUser as error:
            await self._end(str(error), close_codes.NOT_ALLOWED)
            return
        if sessions.count_for_user(user.pk) >= sessions.MAX_SOCKETS_PER_USER:
            await self._send_flash(
                "You have too many pages open. Close some, then reload this one."
            )
            await self.close(code=close_codes.TOO_MANY)
            return
        session_key = self.scope["session"].session_key or ""
        socket = sessions.OpenSocket(
            user.pk, user.password, session_key, project_id, self._sign_out, self._turn_away
        )
        self._exit_stack.enter_context(sessions.track(socket))
        self.follower = ConversationFollower(
            get_runtime(), user, self.conversation_id, self._send_frame
        )

    def _load_user(self) -> User | None:
        """Return who has signed in, as a row: the scope holds a promise of one."""
        promised = self.scope["user"]
        return User.objects.filter(pk=promised.pk).first() if promised is not None else None

    async def _on_disconnect(self) -> None:
        self._exit_stack.close()
        if self._follow_task is not None:
            await stop([self._follow_task], 1.0)

    async def _sign_out(self) -> None:
        sentence = "You are signed out. Sign in again to go on; your text is kept."
        await self._end(sentence, close_codes.SIGNED_OUT)

    async def _turn_away(self) -> None:
        sentence = "You are no longer in this project. Your text is kept."
        await self._end(sentence, close_codes.NOT_ALLOWED)

    async def _end(self, sentence: str, code: int) -> None:
        self._is_closed = True
        await self._send_flash(sentence)
        self._exit_stack.close()
        await self.close(code=code)

    # -- verbs ------------------------------------------------------------------------------------

    async def _on_message(self, text: str | None) -> None:
        if self._is_closed or not hasattr(self, "follower"):
            return
        try:
            verb = parse_message(text)
            bucket = self._ack_bucket if isinstance(verb, Ack) else self._bucket
            if not bucket.try_acquire():
                await self._on_rate_exceeded()
            elif isinstance(verb, InvalidAction):
                raise verb
            else:
                await self._execute(verb)
        except (ChatError, RunRefused, ConfigError) as error:
            await self._send_flash(
                _error_message(error), while_running=isinstance(error, ConversationBusy)
            )
        except DatabaseError as error:
            logger.warning("a verb could not be done: %s", error)
            await self._send_flash("The database does not answer. Try again in a moment.")

    async def _on_rate_exceeded(self) -> None:
        self._ignored += 1
        if self._ignored > MAX_IGNORED:
            await self.close(code=close_codes.TOO_MANY)
        else:
            await self._send_flash("Too many messages at once. Wait a moment, then try again.")

    async def _execute(self, command: AnyCommand) -> None:
        match command:
            case Submit():
                await self._start_run(
                    lambda: self._prepare_question(command), command.client_message_id
                )
            case Regenerate():
                how = RunOptions(client_message_id=command.client_message_id)
                await self._start_run(
                    lambda: ask.regenerate(self.user, self._check_belongs(command.exchange), how)
                )
            case Continue():
                await self._start_run(lambda: self._prepare_continuation(command))
            case Stop():
                await self._stop_runs()
            case ResumePage():
                await self._resume(command)
            case Switch(exchange=exchange):
                await self._run_db(lambda: tree.switch(self._get_conversation(), exchange))
                get_runtime().notify_changed(self.conversation_id)
            case Checkout(exchange=exchange):
                await self._run_db(lambda: tree.checkout(self._get_conversation(), exchange))
                get_runtime().notify_changed(self.conversation_id)
            case RenameConversation(title=title):
                await self._run_db(lambda: commands.rename(self._get_conversation(), title))
                get_runtime().notify_changed(self.conversation_id)
            case Ack(frames=frames):
                self.follower.ack(frames)
            case _:
                assert_never(command)

    async def _resume(self, command: ResumePage) -> None:
        await self.follower.resume(command.head or None, command.live)
        if self._follow_task is None:
            self._follow_task = spawn(self._follow(), "chat page")

    async def _follow(self) -> None:
        try:
            await self.follower.follow()
        except Exception:
            logger.exception("a page cannot be followed")
            await self.close(code=close_codes.SERVER_ERROR)

    async def _start_run(self, prepare: Callable[[], PreparedRun], message_id: str = "") -> None:
        asked = await self._run_db(prepare)
        run = await get_runtime().start(asked.request, asked.attach)
        address = reverse("conversation", args=[run.conversation_key])
        await self.send(fragments.render("ack", message=message_id, url=address))
        get_runtime().notify_changed(self.conversation_id)

    def _prepare_question(self, command: Submit) -> PreparedRun:
        options = RunOptions(
            tree=command.tree or None,
            model=command.model or None,
            client_message_id=command.client_message_id,
        )
        if command.edits:
            return ask.edit_question(
                self.user, self._check_belongs(command.edits), command.question, options
            )
        if Conversation.all_objects.filter(pk=self.conversation_id).exists():
            key = self.conversation_id
            return ask.ask(self.user, command.question, conversation_id=key, options=options)
        project_id = self.scope["url_route"]["kwargs"]["project_id"]
        return ask.start_conversation(
            self.user,
            project_id,
            command.question,
            conversation_id=self.conversation_id,
            options=options,
        )

    def _prepare_continuation(self, command: Continue) -> PreparedRun:
        overrides = (
            {command.limit: command.value} if command.limit and command.value is not None else {}
        )
        options = RunOptions(overrides=overrides, client_message_id=command.client_message_id)
        return continue_run.continue_run(
            self.user,
            self._check_belongs(command.run),
            options=options,
            save_as_default=bool(command.save),
        )

    async def _stop_runs(self) -> None:
        """Stop whatever runs here, also if this page does not know of it yet."""
        for run in await self._run_db(self._list_active_runs):
            await get_runtime().cancel(run.pk)
        for silence in await self._run_db(
            lambda: [*filter(None, map(describe_silence, self._list_active_runs()))]
        ):
            await self._send_flash(silence, while_running=True)

    def _list_active_runs(self) -> list[AgentRun]:
        active = AgentRun.objects.filter(outcome__isnull=True)
        return list(active.filter(user=self.user, conversation_key=self.conversation_id))

    async def send(self, *args: Any, **kwargs: Any) -> None:
        """Send to a page. It may leave meanwhile; we hear of that in a moment."""
        try:
            await super().send(*args, **kwargs)
        except ConnectionError:
            self._is_closed = True

    async def close(self, *args: Any, **kwargs: Any) -> None:
        self._is_closed = True
        with suppress(ConnectionError):
            await super().close(*args, **kwargs)

    # -- help -------------------------------------------------------------------------------------

    def _get_conversation(self) -> Conversation:
        return queries.get(self.user, self.conversation_id)

    def _check_belongs(self, context_id: UUID) -> UUID:
        """Return an exchange or run of this conversation; others are not this page's to touch."""
        queries.get_exchange(self.user, context_id, conversation_id=self.conversation_id)
        return context_id

    async def _send_flash(self, sentence: str, *, while_running: bool = False) -> None:
        """Say why something cannot be done; the page may forget it when the run here has ended."""
        await self.send(fragments.render("flash", text=sentence, while_running=while_running))

    async def _send_frame(self, frame: str) -> None:
        """Do as `send`, without the layers that it passes for every frame."""
        if self._is_closed:
            return
        try:
            await self.base_send({"type": "websocket.send", "bytes": None, "text": frame})
        except ConnectionError:
            self._is_closed = True

    async def _run_db(self, function: Callable[[], T]) -> T:
        return await get_runtime().run_db(function)


def _error_message(error: ChatError | RunRefused | ConfigError) -> str:
    return " ".join(error.problems.values()) if isinstance(error, ConfigError) else str(error)
