"""Questions made ready: what the runtime starts, and what is stored together with it.

    prepared = ask(user, "And then?", conversation_id=pk)
    run = await runtime.start(prepared.request, prepared.attach)

`attach` runs in the transaction that creates the run: exchange, HEAD and, for a first question,
the conversation itself come into being with it or not at all. The same message sent twice is one
run: `run.conversation_key` says where it went, whatever was asked for the second time.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.models import User

from agents.core.config import AgentConfig
from agents.core.registry import NotRegistered
from agents.core.sanitize import replace_unstorable
from agents.models import AgentRun, ModelSettings, Project, UserAgentConfig
from agents.runtime import Attach, RunRequest, get_mode
from agents.settings_service import effective_config
from chat.conversations import queries, tree
from chat.errors import InvalidAction, StaleHead
from chat.models import Conversation

MAX_QUESTION_LENGTH = 16_000
MAX_MESSAGE_ID_LENGTH = 64


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How to answer, where it differs from the user's settings."""

    tree: str | None = None
    model: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Limits for this run only, by their names in AgentConfig."""
    client_message_id: str | None = None


DEFAULT_OPTIONS = RunOptions()


@dataclass(frozen=True)
class PreparedRun:
    """Both are for `Runtime.start`."""

    request: RunRequest
    attach: Attach


def start_conversation(
    user: User,
    project_id: UUID,
    question: str,
    *,
    conversation_id: UUID | None = None,
    continued_from: UUID | None = None,
    options: RunOptions = DEFAULT_OPTIONS,
) -> PreparedRun:
    """Prepare the first question of a new conversation, whose id the caller may choose.

    `continued_from` is a run of this user that is in no conversation.
    """
    project = queries.get_project(user, project_id)
    key = conversation_id or uuid4()

    def attach(run: AgentRun) -> None:
        if Conversation.all_objects.filter(pk=key).exists():
            raise StaleHead("That conversation already exists. Open it, then ask.")
        new = Conversation.objects.create(pk=key, user=user, project=project)
        tree.add_exchange(new, None, run)

    request = _build_request(
        user,
        project,
        question,
        options,
        ModelSettings.for_user(user),
        conversation_key=key,
        continued_from=continued_from,
    )
    return PreparedRun(request, attach)


def ask(
    user: User,
    question: str,
    *,
    conversation_id: UUID | None = None,
    context_id: UUID | None = None,
    options: RunOptions = DEFAULT_OPTIONS,
) -> PreparedRun:
    """Prepare a question under the exchange that `context_id` names, by its id or its run's; else
    at HEAD.

    Asking under an older exchange makes a branch. Asking at HEAD is refused if HEAD has moved
    before the run could start: nobody has seen what is there now.
    """
    if context_id is not None:
        parent = queries.get_exchange(user, context_id, conversation_id=conversation_id)
        return ask_under(user, parent.conversation, parent.pk, question, options)
    if conversation_id is None:
        raise InvalidAction("Say which conversation the question belongs to.")
    conversation = queries.get(user, conversation_id)
    return ask_under(user, conversation, conversation.head_id, question, options, only_at_head=True)


def ask_in_newest(
    user: User, project_id: UUID, question: str, options: RunOptions = DEFAULT_OPTIONS
) -> PreparedRun:
    """Prepare a question at the HEAD of the user's newest conversation of a project, or the first
    of a new one."""
    newest = queries.list_recent(user, 1, project_id=project_id).first()
    if newest is None:
        return start_conversation(user, project_id, question, options=options)
    return ask(user, question, conversation_id=newest.pk, options=options)


def edit_question(
    user: User, context_id: UUID, question: str, options: RunOptions = DEFAULT_OPTIONS
) -> PreparedRun:
    """Prepare the question asked otherwise: a sibling of the exchange that is edited."""
    edited = queries.get_exchange(user, context_id)
    return ask_under(user, edited.conversation, edited.parent_id, question, options)


def regenerate(user: User, context_id: UUID, options: RunOptions = DEFAULT_OPTIONS) -> PreparedRun:
    """Prepare the same question again, in the same mode, of the same model: a sibling."""
    exchange = queries.get_exchange(user, context_id)
    again = exchange.run
    return ask_under(
        user,
        exchange.conversation,
        exchange.parent_id,
        again.question,
        options,
        like=again,
        continued_from=again.continued_from_id,
    )


def ask_under(
    user: User,
    conversation: Conversation,
    parent_id: UUID | None,
    question: str,
    options: RunOptions,
    *,
    like: AgentRun | None = None,
    continued_from: UUID | None = None,
    only_at_head: bool = False,
) -> PreparedRun:
    """Prepare a question that hangs under an exchange, for rows that were found for this user.

    `like` is a run of theirs whose mode and model it takes, unless others were asked for.
    """
    chosen = ModelSettings.for_user(user)
    if like is not None:
        options = _inherit_options(user, like, options, chosen)

    def attach(run: AgentRun) -> None:
        with tree.lock_conversation(conversation.pk) as current:
            if only_at_head and current.head_id != parent_id:
                raise StaleHead("Another question was just asked here. Read it, then ask again.")
            tree.add_exchange(current, parent_id, run)

    request = _build_request(
        user,
        conversation.project,
        question,
        options,
        chosen,
        conversation_key=conversation.pk,
        context_runs=tree.run_ids_on_path(parent_id, chosen.max_context_nodes),
        continued_from=continued_from,
    )
    return PreparedRun(request, attach)


def _inherit_options(
    user: User, run: AgentRun, options: RunOptions, chosen: ModelSettings
) -> RunOptions:
    """Take mode and model of an earlier run, unless others are asked for or they are gone."""
    if options.tree is None:
        with suppress(NotRegistered):
            options = replace(options, tree=get_mode(run.mode, user).name)
    if options.model is None and run.model in chosen.models:
        options = replace(options, model=run.model)
    return options


def _build_request(
    user: User,
    project: Project,
    question: str,
    options: RunOptions,
    chosen: ModelSettings,
    **place: Any,
) -> RunRequest:
    row = UserAgentConfig.for_user(user)
    return RunRequest(
        user=user,
        project=project,
        question=_validate_question(question),
        config=AgentConfig.build(options.overrides, effective_config(user, row)),
        tree=_validate_tree(options.tree or row.tree, user),
        model=_validate_model(options.model, chosen),
        model_settings=chosen,
        client_message_id=_validate_message_id(options.client_message_id),
        **place,
    )


def _validate_question(question: str) -> str:
    question = replace_unstorable(question).strip()
    if not question:
        raise InvalidAction("The question is empty.")
    if len(question) > MAX_QUESTION_LENGTH:
        raise InvalidAction(
            f"The question has {len(question):,} characters; {MAX_QUESTION_LENGTH:,} are allowed. "
            "Put long material into a note and ask about that."
        )
    return question


def _validate_tree(name: str, user: User) -> str:
    try:
        return get_mode(name, user).name
    except NotRegistered as error:
        raise InvalidAction(str(error)) from None


def _validate_model(name: str | None, chosen: ModelSettings) -> str:
    if name and name not in chosen.models:
        raise InvalidAction(
            f"There is no model {name!r} to choose. Reload the page, then ask again."
        )
    return name or ""


def _validate_message_id(message_id: str | None) -> str | None:
    if message_id is None:
        return None
    if not (0 < len(message_id) <= MAX_MESSAGE_ID_LENGTH and message_id.isprintable()):
        raise InvalidAction(f"A message id has 1 to {MAX_MESSAGE_ID_LENGTH} visible characters.")
    return message_id
