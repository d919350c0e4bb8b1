"""Every address of the site besides the admin's: who may ask for it. The admin's own table is in
`tests/agents/admin/test_admin_permissions.py`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from django.urls import URLResolver, get_resolver

from tests.access.scene import BEHAVIOUR, PEOPLE, PLACES, RULE, Scene


class Access(StrEnum):
    PUBLIC = "whoever comes, and it shows nobody's"
    OWN = "the signed-in, who see their own"
    WRITER = "the one whose it is, in no project"
    AUTHOR = "the one who asked, while in the project"
    READ = "readers, members and owners"
    WRITE = "members and owners, of a project that is not archived"
    MANAGE = "owners"
    WITHDRAW = "owners, of a project that is not archived, and who wrote it"
    UNDELETE = "owners, also of a deleted project"
    INVITED = "whoever has the link"


@dataclass(frozen=True)
class Address:
    access: Access
    post: bool = False
    """Whether it is asked for by POST; else by GET."""
    given: Mapping[str, str] = field(default_factory=dict)
    """Of the form, or of the query."""


def _get(access: Access, **given: str) -> Address:
    return Address(access, given=given)


def _post(access: Access, **given: str) -> Address:
    return Address(access, post=True, given=given)


ADDRESSES: dict[str, Address] = {
    "healthz": _get(Access.PUBLIC),
    "readyz": _get(Access.PUBLIC),
    "sign-in/": _get(Access.PUBLIC),
    "sign-in/<str:uidb64>/<str:token>/": _get(Access.PUBLIC),
    "sign-out/": _post(Access.PUBLIC),
    "invite/<str:token>/": _get(Access.INVITED),
    # one's own: settings, lists, what begins something new
    "": _get(Access.OWN),
    "new/": _get(Access.OWN, project="{project}"),
    "conversations/": _get(Access.OWN, project="{project}"),
    "modes/": _get(Access.OWN, tree="quick"),
    "search/": _get(Access.OWN, q="tide"),
    "runs/": _get(Access.OWN),
    "usage/": _get(Access.OWN),
    "password/": _get(Access.OWN),
    "library/": _get(Access.OWN),
    "projects/": _get(Access.OWN),
    "projects/create/": _post(Access.OWN, name="New one"),
    "projects/sample/": _post(Access.OWN),
    "projects/deleted/": _get(Access.OWN),
    "settings/": _get(Access.OWN),
    "settings/reset/": _post(Access.OWN),
    "settings/limits/<slug:name>/": _get(Access.OWN),
    "settings/limits/<slug:name>/reset/": _post(Access.OWN),
    "settings/appearance/": _get(Access.OWN),
    "settings/notifications/": _get(Access.OWN),
    "settings/notifications/<slug:name>/switch/": _post(Access.OWN, on="0"),
    "settings/reminders/": _post(Access.OWN, on="1"),
    "settings/reminders/<int:number>/delete/": _post(Access.AUTHOR),
    "settings/data/": _get(Access.OWN),
    "settings/data/export.json": _get(Access.OWN),
    "settings/tokens/": _get(Access.OWN),
    "settings/tokens/<int:number>/revoke/": _post(Access.WRITER),
    "settings/changes/": _get(Access.OWN),
    "settings/behaviours/": _get(Access.OWN),
    "settings/behaviours/new/": _post(Access.OWN, text=BEHAVIOUR),
    "settings/behaviours/check/": _post(Access.OWN, text=BEHAVIOUR),
    "settings/behaviours/try/": _post(Access.OWN, text=BEHAVIOUR, run="{run}"),
    "settings/behaviours/<str:text_id>/": _get(Access.WRITER),
    "settings/behaviours/<str:text_id>/delete/": _post(Access.WRITER),
    "settings/rules/": _get(Access.OWN),
    "settings/rules/new/": _post(Access.MANAGE, text=RULE, **{"for": "project:harbour"}),
    "settings/rules/check/": _post(Access.OWN, text="x"),
    "settings/rules/try/": _post(Access.OWN, text="x"),
    "settings/rules/<str:text_id>/": _get(Access.READ),
    "settings/rules/<str:rule_id>/switch/": _post(Access.MANAGE, mode="off"),
    "settings/rules/<str:text_id>/delete/": _post(Access.MANAGE),
    "settings/models/": _get(Access.OWN),
    "settings/models/key/": _get(Access.OWN),
    "settings/models/list/": _get(Access.OWN),
    "settings/models/test/": _post(Access.OWN),
    "settings/models/<slug:name>/": _get(Access.OWN),
    "settings/models/<slug:name>/reset/": _post(Access.OWN),
    # conversations and runs
    "c/<uuid:conversation_id>/": _get(Access.AUTHOR),
    "c/<uuid:conversation_id>/earlier/<uuid:exchange_id>/": _get(Access.AUTHOR),
    "c/<uuid:conversation_id>/at/<uuid:exchange_id>/": _get(Access.AUTHOR),
    "c/<uuid:conversation_id>/outline/": _get(Access.AUTHOR),
    "c/<uuid:conversation_id>/tend/": _post(Access.AUTHOR, do="label", exchange="{exchange}"),
    "c/<uuid:conversation_id>/export.<str:form>": _get(Access.AUTHOR),
    "c/<uuid:conversation_id>/delete/": _post(Access.AUTHOR),
    "c/<uuid:conversation_id>/restore/": _post(Access.AUTHOR),
    "runs/<uuid:run_id>/": _get(Access.AUTHOR),
    "runs/<uuid:run_id>/calls/<int:number>/": _get(Access.AUTHOR),
    "runs/<uuid:run_id>/changes/": _get(Access.AUTHOR),
    "runs/<uuid:run_id>/approval/": _get(Access.AUTHOR),
    "runs/<uuid:run_id>/decide/": _post(Access.AUTHOR, digest="d", verdict="refused"),
    "runs/<uuid:run_id>/rules/": _get(Access.AUTHOR),
    "runs/<uuid:run_id>/behaviour/": _get(Access.AUTHOR),
    "runs/<uuid:run_id>/undo/": _post(Access.AUTHOR),
    "runs/<uuid:run_id>/keep/": _post(Access.AUTHOR, name="power", text="x", kind="thought"),
    "runs/<uuid:run_id>/rest/<int:part>/<int:block>/": _get(Access.AUTHOR),
    # projects
    "p/<slug:slug>/": _get(Access.READ),
    "p/<slug:slug>/settings/": _get(Access.READ),
    "p/<slug:slug>/leave/": _post(Access.READ),
    "p/<slug:slug>/rename/": _post(Access.MANAGE, name="Another"),
    "p/<slug:slug>/asking/": _post(Access.MANAGE, mode="always"),
    "p/<slug:slug>/archive/": _post(Access.MANAGE),
    "p/<slug:slug>/unarchive/": _post(Access.MANAGE),
    "p/<slug:slug>/delete/": _post(Access.MANAGE),
    "p/<slug:slug>/restore/": _post(Access.UNDELETE),
    "p/<slug:slug>/members/add/": _post(Access.MANAGE, name="former", role="owner"),
    "p/<slug:slug>/members/role/": _post(Access.MANAGE, person="{guest}", role="owner"),
    "p/<slug:slug>/members/remove/": _post(Access.MANAGE, person="{guest}"),
    "p/<slug:slug>/links/create/": _post(Access.MANAGE, role="owner"),
    "p/<slug:slug>/links/revoke/": _post(Access.MANAGE, link="{invitation}"),
    # notes
    "notes/<uuid:project_id>/<path:path>": _get(Access.READ),
    "library/<slug:slug>/": _get(Access.READ),
    "library/<slug:slug>/search/": _get(Access.READ, q="tide"),
    "library/<slug:slug>/notes/<path:path>": _get(Access.READ),
    "library/<slug:slug>/raw/<path:path>": _get(Access.READ),
    "library/<slug:slug>/history/<path:path>": _get(Access.READ),
    "library/<slug:slug>/versions/<int:number>/<path:path>": _get(Access.READ),
    "library/<slug:slug>/trash/": _get(Access.READ),
    "library/<slug:slug>/tags/": _get(Access.READ),
    "library/<slug:slug>/files/<path:path>": _get(Access.READ),
    "library/<slug:slug>/download/": _get(Access.READ),
    "threads/<uuid:project_id>/<str:name>": _get(Access.READ, entry="1"),
    "library/<slug:slug>/threads/": _get(Access.READ, status="archived"),
    "library/<slug:slug>/threads/<str:name>/": _get(Access.READ),
    "library/<slug:slug>/new-thread/": _post(Access.WRITE, name="t", text="x", kind="thought"),
    "library/<slug:slug>/threads/<str:name>/push/": _post(Access.WRITE, text="x", kind="thought"),
    "library/<slug:slug>/threads/<str:name>/status/": _post(Access.WRITE, status="archived"),
    "library/<slug:slug>/threads/<str:name>/withdraw/<int:number>/": _post(Access.WITHDRAW),
    "library/<slug:slug>/upload/": _post(Access.WRITE, folder="up"),
    "library/<slug:slug>/upload/piece/": _post(Access.WRITE, path="p.md", last="yes"),
    "library/<slug:slug>/delete-file/<path:path>": _post(Access.WRITE),
    "library/<slug:slug>/trash/files/<int:file_id>/": _post(Access.WRITE),
    "library/<slug:slug>/new/": _post(Access.WRITE, path="x.md", text="x"),
    "library/<slug:slug>/preview/": _post(Access.WRITE, text="x"),
    "library/<slug:slug>/edit/<path:path>": _post(Access.WRITE, text="x", version="2"),
    "library/<slug:slug>/move/<path:path>": _post(Access.WRITE, new_path="y.md"),
    "library/<slug:slug>/delete/<path:path>": _post(Access.WRITE, version="2"),
    "library/<slug:slug>/restore/<int:number>/<path:path>": _post(Access.WRITE, version="2"),
    "library/<slug:slug>/trash/<int:note_id>/": _post(Access.WRITE),
    # code
    "code/<uuid:project_id>/<path:path>": _get(Access.READ),
    "library/<slug:slug>/code/": _get(Access.READ),
    "library/<slug:slug>/code/files/<path:path>": _get(Access.READ),
    "library/<slug:slug>/code/names/": _get(Access.READ, name="tide_level"),
    "library/<slug:slug>/code/map/": _get(Access.READ),
    "library/<slug:slug>/code/upload/": _post(Access.WRITE, folder="up"),
    "library/<slug:slug>/code/upload/piece/": _post(Access.WRITE, path="p.zip", last="yes"),
    "library/<slug:slug>/code/upload/progress/": _get(Access.WRITE, id="{project}"),
    "library/<slug:slug>/code/checkouts/<int:checkout_id>/": _get(Access.READ),
    "library/<slug:slug>/code/checkouts/<int:checkout_id>/remove/": _post(Access.WRITE),
}


OF_A_PROJECT = (
    Access.AUTHOR,
    Access.READ,
    Access.WRITE,
    Access.MANAGE,
    Access.WITHDRAW,
    Access.UNDELETE,
)
STATES = {
    "open": tuple(Access),
    "archived": OF_A_PROJECT,
    "deleted": (*OF_A_PROJECT, Access.OWN, Access.INVITED),
}
"""What is asked for in each state of a project."""
CLOSED = [each for each in STATES if each != "open"]


def people_in(state: str) -> tuple[str, ...]:
    """Who asks: everybody, and those whom the state of a project makes a difference to."""
    return ("anonymous", *PEOPLE) if state == "open" else PLACES


def list_routes(resolver: URLResolver | None = None, before: str = "") -> Iterator[str]:
    """Yield every address of the site as it is declared."""
    for pattern in (resolver or get_resolver()).url_patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from list_routes(pattern, route)
        else:
            yield route


def get_values(scene: Scene, who: str, route: str) -> dict[str, str]:
    """What stands in addresses and forms when somebody asks for what is in the harbour."""
    talk = scene.talk(who, deleted="restore" in route)
    path = _get_path(scene, route)
    names = {
        "str:uidb64": "MQ", "str:token": scene.secret, "slug:name": "max_iterations",
        "int:number": _get_number(scene, who, route), "int:part": "0", "int:block": "0",
        "str:form": "md", "path:path": path, "slug:slug": scene.project.slug, "str:name": "power",
    }  # fmt: skip
    rows = {
        "uuid:conversation_id": talk.conversation_id,
        "uuid:exchange_id": talk.pk,
        "uuid:run_id": talk.run_id,
        "str:text_id": (scene.behaviour if "behaviours" in route else scene.rule).pk,
        "str:rule_id": scene.rule.pk,
        "str:behaviour_id": scene.behaviour.pk,
        "uuid:project_id": scene.project.pk,
        "int:note_id": scene.trashed.pk,
        "int:file_id": scene.trashed_file.pk,
        "int:checkout_id": scene.checkout.pk,
        "int:user_id": scene.guest.pk,
        "int:invitation_id": scene.invitation.pk,
        "project": scene.project.pk,
        "run": talk.run_id,
        "exchange": talk.pk,
        "guest": scene.guest.pk,
        "invitation": scene.invitation.pk,
    }
    return {**names, **{name: str(value) for name, value in rows.items()}}


def _get_number(scene: Scene, who: str, route: str) -> str:
    if "reminders" in route:
        return str(scene.reminder(who).pk)
    return str(scene.token.pk) if "tokens" in route else "0"


def _get_path(scene: Scene, route: str) -> str:
    if "code" in route:
        return scene.code_file.path
    return scene.file.path if "file" in route else scene.note.path


def fill(text: str, values: Mapping[str, str], marks: str = "<>") -> str:
    """Put values where their names stand between marks."""
    for name, value in values.items():
        text = text.replace(f"{marks[0]}{name}{marks[1]}", value)
    return text
