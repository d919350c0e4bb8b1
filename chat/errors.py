"""What people are told when something cannot be done, sorted by what they can do about it.

ChatError
├── NotYours       there is no such thing for this person; nothing says whether it exists
└── CannotDo       not now, or not like this; the message says what to do instead
    └── MovedOn    the conversation is no longer as it was when the question was asked
"""


class ChatError(Exception):
    """The message is for the person who asked."""


class NotYours(ChatError):
    pass


class CannotDo(ChatError):
    pass


class MovedOn(CannotDo):
    pass
