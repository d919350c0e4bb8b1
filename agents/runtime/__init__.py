"""Start, follow and stop runs. A process has one runtime, which owns the tasks of its runs.

Closing a tab, a socket or a reader does not end a run. Begin with `runtime.py`; `requests` is what
a run is started with, `admission` creates its row, `factory` chooses its model and tools,
`run_task` drives it, `endings` and `recovery` close it, `current` has the runtime of this process.
`control` loads the rules and subscribers that it is held to, `site_files` those of the operator;
`behaviours` and `modes` are what can be chosen for a run, `reminders` pass from one to a later one,
and `notification_settings` is what people see of that.
"""

from agents.runtime.behaviours import (
    BehaviourEntry,
    BehaviourLevel,
    is_reserved,
    list_behaviours,
    list_common_behaviours,
    list_texts,
    parse_behaviour,
    read_typed_behaviour,
)
from agents.runtime.control import (
    REMINDERS,
    RuleEntry,
    SubscriberEntry,
    find_file_problems,
    keeps_reminders,
    list_rules,
    list_subscribers,
    load_control,
    parse_rule,
    parse_subscriber,
)
from agents.runtime.current import (
    apply_access_change,
    get_runtime,
    open_runtime,
    start_from_thread,
)
from agents.runtime.factory import SiteRunFactory
from agents.runtime.minimum_tokens import MinimumTokens, minimum_tokens_for
from agents.runtime.modes import Mode, get_mode, list_modes
from agents.runtime.notification_settings import (
    MAX_SPOKEN_RUNS,
    LastSpoke,
    LockedSubscriber,
    UnknownSubscriber,
    delete_reminder,
    explain_lock,
    find_last_spoken,
    get_subscriber,
    preview_subscriber,
    switch_reminders,
    switch_subscriber,
    visible_reminders,
    waiting_reminders,
)
from agents.runtime.recovery import describe_silence
from agents.runtime.requests import (
    Attach,
    ConversationBusy,
    ProjectClosed,
    RunFactory,
    RunRefused,
    RunRequest,
    TooManyRuns,
)
from agents.runtime.runtime import Runtime
from agents.runtime.site_files import FileProblem
from agents.runtime.system_prompt import TEMPLATE_NAME, find_template_fault

__all__ = [
    "MAX_SPOKEN_RUNS",
    "REMINDERS",
    "TEMPLATE_NAME",
    "Attach",
    "BehaviourEntry",
    "BehaviourLevel",
    "ConversationBusy",
    "FileProblem",
    "LastSpoke",
    "LockedSubscriber",
    "MinimumTokens",
    "Mode",
    "ProjectClosed",
    "RuleEntry",
    "RunFactory",
    "RunRefused",
    "RunRequest",
    "Runtime",
    "SiteRunFactory",
    "SubscriberEntry",
    "TooManyRuns",
    "UnknownSubscriber",
    "apply_access_change",
    "delete_reminder",
    "describe_silence",
    "explain_lock",
    "find_file_problems",
    "find_last_spoken",
    "find_template_fault",
    "get_mode",
    "get_runtime",
    "get_subscriber",
    "is_reserved",
    "keeps_reminders",
    "list_behaviours",
    "list_common_behaviours",
    "list_modes",
    "list_rules",
    "list_subscribers",
    "list_texts",
    "load_control",
    "minimum_tokens_for",
    "open_runtime",
    "parse_behaviour",
    "parse_rule",
    "parse_subscriber",
    "preview_subscriber",
    "read_typed_behaviour",
    "start_from_thread",
    "switch_reminders",
    "switch_subscriber",
    "visible_reminders",
    "waiting_reminders",
]
