"""Say why something about a project cannot be done, sorted by what one can do about it.

ProjectError
├── ProjectNotFound   there is no such project, member or link for this person
├── ProjectForbidden  it is there, and their role does not allow it
├── ProjectRefused    not now: the message says what to do first
└── InvalidName       give another one
"""


class ProjectError(Exception):
    """The message is for the person who asked."""


class ProjectNotFound(ProjectError):
    pass


class ProjectForbidden(ProjectError):
    pass


class ProjectRefused(ProjectError):
    pass


class InvalidName(ProjectError):
    pass
