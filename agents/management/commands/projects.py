"""`manage.py projects`: the projects of the site, and who is in them."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agents.management.lookup import find_user
from agents.models import Membership, Project
from agents.projects import members, queries, services
from agents.projects.errors import ProjectError

ROLES = [role.value for role in Membership.Role]


class Command(BaseCommand):
    help = "Manage projects and who is in them. Projects are named by their slug."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        listing = actions.add_parser("list", help="all projects of the site")
        listing.add_argument("--deleted", action="store_true", help="those that can be restored")
        create = actions.add_parser("create", help="a new project")
        create.add_argument("name")
        create.add_argument("--user", help="who owns it; not needed with one user or administrator")
        rename = actions.add_parser("rename", help="another name; the slug stays")
        rename.add_argument("project")
        rename.add_argument("name")
        for action in ("archive", "unarchive", "delete", "restore"):
            actions.add_parser(action).add_argument("project")
        add = actions.add_parser("add-member", help="let somebody in, or give them another role")
        add.add_argument("project")
        add.add_argument("user")
        add.add_argument("--role", choices=ROLES, default=Membership.Role.MEMBER.value)
        remove = actions.add_parser("remove-member", help="end a membership")
        remove.add_argument("project")
        remove.add_argument("user")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            ACTIONS[options["action"]](self, options)
        except ProjectError as error:
            raise CommandError(str(error)) from None

    def list(self, options: dict[str, Any]) -> None:
        found = Project.objects.filter(deleted_at__isnull=not options["deleted"]).exclude(name="")
        for project in found:
            self._tell(project)

    def create(self, options: dict[str, Any]) -> None:
        self._tell(services.create_project(find_user(options["user"]), options["name"]))

    def rename(self, options: dict[str, Any]) -> None:
        project = _find_project(options["project"])
        self._tell(services.rename_project(project, options["name"], by=None))

    def archive(self, options: dict[str, Any]) -> None:
        self._tell(services.archive_project(_find_project(options["project"]), by=None))

    def unarchive(self, options: dict[str, Any]) -> None:
        self._tell(services.unarchive_project(_find_project(options["project"]), by=None))

    def delete(self, options: dict[str, Any]) -> None:
        self._tell(services.delete_project(_find_project(options["project"]), by=None))

    def restore(self, options: dict[str, Any]) -> None:
        project = _find_project(options["project"], deleted=True)
        self._tell(services.restore_project(project, by=None))

    def add_member(self, options: dict[str, Any]) -> None:
        project, user = _find_project(options["project"]), find_user(options["user"])
        role = Membership.Role(options["role"])
        if queries.get_role(user, project) is None:
            members.add_member(project, user, role, by=None)
        else:
            members.change_role(project, user, role, by=None)
        self._tell(project)

    def remove_member(self, options: dict[str, Any]) -> None:
        project, user = _find_project(options["project"]), find_user(options["user"])
        members.remove_member(project, user, by=None)
        self._tell(project)

    def _tell(self, project: Project) -> None:
        people = ", ".join(
            f"{place.user.username} ({place.role})" for place in queries.list_members(project)
        )
        state = "deleted" if project.deleted_at else "archived" if project.archived_at else "open"
        self.stdout.write(f"{project.slug}  {project.name}  {state}  {people or 'nobody'}")


ACTIONS: dict[str, Callable[[Command, dict[str, Any]], None]] = {
    "list": Command.list,
    "create": Command.create,
    "rename": Command.rename,
    "archive": Command.archive,
    "unarchive": Command.unarchive,
    "delete": Command.delete,
    "restore": Command.restore,
    "add-member": Command.add_member,
    "remove-member": Command.remove_member,
}


def _find_project(slug: str, *, deleted: bool = False) -> Project:
    known = Project.objects.filter(deleted_at__isnull=not deleted).exclude(name="")
    found = known.filter(slug=slug).first() if "\0" not in slug else None
    if found is None:
        what = "deleted project" if deleted else "project"
        listing = "projects list --deleted" if deleted else "projects list"
        raise CommandError(f"There is no {what} {slug!r}; `manage.py {listing}` names them.")
    return found
