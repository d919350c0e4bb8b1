"""Projects for `bench.pages`: one of each kind, people and links, and a note with everything."""

from django.contrib.auth.models import User

from agents.models import Membership, Project, Thread, ThreadEntry
from agents.projects import invitations, members, services
from agents.sample import create_sample_project
from agents.vault.author import Author
from agents.vault.notes import create_note, save_note
from agents.vault.threads import NewEntry, push_entries, set_status, withdraw_entries
from tests.support.code import add_checkout, add_gauge

LONG_NAME = "a.rather.long.name.of.somebody@example.org"
EVERYTHING = """---
title: Everything a note can have
tags: [one/two, three]
aliases: [All of it]
related: "[[Small]]"
---
# Everything a note can have

Text with [[Small]], [[Small|a label]], [[Nothing yet]], ==a highlight==, `code`, #a/tag,
a [Markdown link](Small.md), [one by reference][small] and a footnote.[^1]

> [!warning]- Folded
> What it says.

> [!tip] Open
> > [!note] Nested
> > Deeper.

- [ ] open
- [x] done

| a | b |
|---|---|
| [[Small\\|in a table]] | 2 |

![[Small]]

```python
print("[[no link]]")
```

[^1]: What the footnote says.
[small]: Small.md
"""
DEEP = "#### Deep\n\nText.\n\n## Less\n\nText.\n\n###### Deeper\n\nText.\n"
"""Headings that begin and go on with any level."""


def create() -> str:
    """Make them for the only user, and return the secret of a link that nobody has used."""
    user = User.objects.get()
    author = Author.person(user.pk)
    create_sample_project(user)
    made = {name: services.create_project(user, name) for name in ("Empty", "Gone", "Past", "Own")}
    services.archive_project(made["Past"], by=user)
    services.delete_project(made["Gone"], by=user)
    create_note(made["Own"].pk, "Small.md", "A small note. #a/tag\n", author)
    create_note(made["Own"].pk, "Everything.md", EVERYTHING, author)
    create_note(made["Own"].pk, "Deep.md", DEEP, author)
    push_entries(made["Own"].pk, "deep", [NewEntry(DEEP)], author)
    save_note(made["Own"].pk, "Small.md", "A note, changed.\n", author, expected_version=1)
    add_gauge(made["Own"])
    add_old_thread(made["Own"], author)
    add_checkout(made["Own"])
    return let_people_in(Project.objects.get(is_sample=True), user)


def add_old_thread(project: Project, author: Author) -> None:
    """Make an archived thread with an entry of each type, one of them withdrawn."""
    entries = [NewEntry(EVERYTHING, kind) for kind in ThreadEntry.Kind.values]
    rows = push_entries(project.pk, "old", entries, author)
    withdraw_entries(ThreadEntry.objects.filter(pk=rows[0].pk), author.user_id)
    set_status(project.pk, "old", Thread.Status.ARCHIVED)


def let_people_in(project: Project, user: User) -> str:
    for name, role in (("grace", Membership.Role.MEMBER), (LONG_NAME, Membership.Role.READER)):
        members.add_member(project, User.objects.create_user(name), role, by=user)
    invitations.create_invitation(project, Membership.Role.READER, by=user)
    return invitations.create_invitation(project, Membership.Role.MEMBER, by=user)[1]
