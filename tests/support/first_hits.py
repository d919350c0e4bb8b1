"""`python -m tests.support.first_hits`: the first hits of every question, on the database in use.

It imports the packed vaults and prints a JSON object of paths by vault and question. What two
databases print is to be the same.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import django

HITS = 5
MORE_QUERIES = (
    ["model form", "Formularvalidierung"],
    ["the and of"],
    ["datenbankabfragen", "中文", "e-mail"],
    ["security issue", "vulnerability report", "disclosure", "private mailing list"],
)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oracle_site.settings")
    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from tests.support.retrieval import import_vault, read_questions, unpack_vault

    call_command("migrate", verbosity=0)
    user = User.objects.create_user("ada")
    queries = [*([question.question] for question in read_questions()), *MORE_QUERIES]
    found = {}
    with tempfile.TemporaryDirectory() as place:
        for vault in ("django/django:docs", "kepano"):
            project_id = import_vault(unpack_vault(vault, Path(place)), user.pk)
            found[vault] = {" | ".join(each): list_hits(project_id, each) for each in queries}
    print(json.dumps(found))


def list_hits(project_id: Any, queries: list[str]) -> list[Any]:
    from agents.search.search import search

    result = search(project_id, queries, limit=HITS)
    return [*(hit.path for hit in result.hits), sorted(result.missing_words)]


if __name__ == "__main__":
    main()
