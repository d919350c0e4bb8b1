"""What people are told when something cannot be done, sorted by what they can do about it.

ChatError
├── NotFoundForUser  there is no such thing for this person; nothing says whether it exists
└── InvalidAction    not now, or not like this; the message says what to do instead
    └── StaleHead    the conversation is no longer as it was when the question was asked
"""


class ChatError(Exception):
    """The message is for the person who asked."""


class NotFoundForUser(ChatError):
    pass


class InvalidAction(ChatError):
    pass


class StaleHead(InvalidAction):
    pass
