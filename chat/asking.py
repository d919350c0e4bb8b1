"""Questions made ready: what the runtime starts, and what is stored together with it.

    asking = ask(user, "And then?", conversation_id=pk)
    run = await runtime.start(asking.request, asking.attach)

`attach` runs in the transaction that creates the run: exchange, HEAD and, for a first question,
the conversation itself come into being with it or not at all. The same message sent twice is one
run: `run.conversation_key` says where it went, whatever was asked for the second time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.models import User

from agents.core.config import AgentConfig
from agents.core.decision import TREES
from agents.core.text import storable
from agents.models import AgentRun, ModelSettings, Project, UserAgentConfig
from agents.runtime import RunRequest
from agents.runtime.requests import Attach
from chat import conversations, tree
from chat.errors import CannotDo, MovedOn, NotYours
from chat.models import Conversation

LONGEST_QUESTION = 16_000
LONGEST_MESSAGE_ID = 64


@dataclass(frozen=True, kw_only=True)
class How:
    """How to answer, where it differs from the user's settings."""

    tree: str | None = None
    model: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Limits for this run only, by their names in AgentConfig."""
    client_message_id: str | None = None


AS_SET = How()


@dataclass(frozen=True)
class Asking:
    """Both are for `Runtime.start`."""

    request: RunRequest
    attach: Attach


def begin(
    user: User,
    project_id: UUID,
    question: str,
    *,
    conversation_id: UUID | None = None,
    how: How = AS_SET,
) -> Asking:
    """The first question of a new conversation, whose id may be chosen by the caller."""
    project = conversations.get_project(user, project_id)
    key = conversation_id or uuid4()

    def attach(run: AgentRun) -> None:
        if Conversation.everything.filter(pk=key).exists():
            raise MovedOn("That conversation has begun already. Open it, then ask.")
        new = Conversation.objects.create(pk=key, user=user, project=project)
        tree.add(new, None, run)

    return Asking(_request(user, project, question, how, conversation_key=key), attach)


def ask(
    user: User,
    question: str,
    *,
    conversation_id: UUID | None = None,
    context_id: UUID | None = None,
    how: How = AS_SET,
) -> Asking:
    """A question under the exchange that `context_id` names, by its id or its run's; else at HEAD.

    Asking under an older exchange makes a branch. Asking at HEAD is refused if HEAD has moved
    before the run could start: nobody has seen what is there now.
    """
    if context_id is not None:
        parent = conversations.get_exchange(user, context_id)
        if conversation_id not in (None, parent.conversation_id):
            raise NotYours("That exchange is not in this conversation.")
        return under(user, parent.conversation, parent.pk, question, how)
    if conversation_id is None:
        raise CannotDo("Say which conversation the question belongs to.")
    conversation = conversations.get(user, conversation_id)
    return under(user, conversation, conversation.head_id, question, how, only_at_head=True)


def edit(user: User, context_id: UUID, question: str, how: How = AS_SET) -> Asking:
    """The question asked otherwise: a sibling of the exchange that is edited."""
    edited = conversations.get_exchange(user, context_id)
    return under(user, edited.conversation, edited.parent_id, question, how)


def regenerate(user: User, context_id: UUID, how: How = AS_SET) -> Asking:
    """The same question again, in the same mode, of the same model: a sibling."""
    exchange = conversations.get_exchange(user, context_id)
    again = exchange.run
    return under(
        user,
        exchange.conversation,
        exchange.parent_id,
        again.question,
        in_mode_of(again, how),
        continued_from=again.continued_from_id,
    )


def under(
    user: User,
    conversation: Conversation,
    parent_id: UUID | None,
    question: str,
    how: How,
    *,
    continued_from: UUID | None = None,
    only_at_head: bool = False,
) -> Asking:
    """A question that hangs under an exchange, for rows that were found for this user."""

    def attach(run: AgentRun) -> None:
        with tree.held(conversation.pk) as current:
            if only_at_head and current.head_id != parent_id:
                raise MovedOn("Another question was asked here just now. Look, then ask again.")
            tree.add(current, parent_id, run)

    request = _request(
        user,
        conversation.project,
        question,
        how,
        conversation_key=conversation.pk,
        context_runs=tree.runs_to(parent_id, ModelSettings.of(user).max_context_nodes),
        continued_from=continued_from,
    )
    return Asking(request, attach)


def in_mode_of(run: AgentRun, how: How) -> How:
    """Mode and model of an earlier run, unless others were asked for or they are not there."""
    if how.tree is None and run.tree in TREES:
        how = replace(how, tree=run.tree)
    asker = run.user
    if how.model is None and asker and run.model in ModelSettings.of(asker).models:
        how = replace(how, model=run.model)
    return how


def _request(user: User, project: Project, question: str, how: How, **place: Any) -> RunRequest:
    row = UserAgentConfig.of(user)
    return RunRequest(
        user=user,
        project=project,
        question=_checked_question(question),
        config=AgentConfig.build(how.overrides, row.to_config()),
        tree=_checked_tree(how.tree or row.tree),
        model=_checked_model(how.model, ModelSettings.of(user)),
        client_message_id=_checked_message_id(how.client_message_id),
        **place,
    )


def _checked_question(question: str) -> str:
    question = storable(question).strip()
    if not question:
        raise CannotDo("The question is empty.")
    if len(question) > LONGEST_QUESTION:
        raise CannotDo(
            f"The question has {len(question):,} characters; {LONGEST_QUESTION:,} are allowed. "
            "Put long material into a note and ask about that."
        )
    return question


def _checked_tree(name: str) -> str:
    if name not in TREES:
        raise CannotDo(f"There is no mode {name!r}. Known: {', '.join(TREES.names())}.")
    return name


def _checked_model(name: str | None, chosen: ModelSettings) -> str:
    if name and name not in chosen.models:
        raise CannotDo(f"There is no model {name!r} to choose. Reload the page, then ask again.")
    return name or ""


def _checked_message_id(message_id: str | None) -> str | None:
    if message_id is None:
        return None
    if not (0 < len(message_id) <= LONGEST_MESSAGE_ID and message_id.isprintable()):
        raise CannotDo(f"A message id has 1 to {LONGEST_MESSAGE_ID} characters that can be seen.")
    return message_id
