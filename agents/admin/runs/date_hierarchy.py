"""The date hierarchy above the list, from the days that were counted already.

Django's own would truncate the time of every run: on SQLite that is a Python function per row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from agents.admin.runs.filters import DateFilter


@dataclass(frozen=True)
class DateLink:
    title: str
    link: str = ""


@dataclass(frozen=True)
class DateHierarchy:
    """`back` leads one step out; a choice without a link is where one is."""

    back: DateLink | None
    choices: Sequence[DateLink]


def build_date_hierarchy(
    days: Sequence[date], chosen: str, query_string: Callable[[dict[str, Any]], str]
) -> DateHierarchy | None:
    """Return years, or the months of the only year, or the days of the only month."""

    def choice(title: str, value: str | None) -> DateLink:
        return DateLink(title, query_string({"when": value}))

    place = "" if chosen in DateFilter.DAYS else chosen
    if not place and not days:
        return None
    if len(place) == 10:
        day = date.fromisoformat(place)
        return DateHierarchy(choice(f"{day:%B %Y}", place[:7]), [DateLink(_format_day(day))])
    inside = [day for day in days if day.isoformat().startswith(place)]
    months = {day.strftime("%Y-%m"): day for day in inside}
    years = {day.strftime("%Y"): day for day in inside}
    if len(place) == 7 or (not place and len(months) == 1):
        month = place or next(iter(months))
        back = choice(month[:4], month[:4])
        return DateHierarchy(back, [choice(_format_day(day), day.isoformat()) for day in inside])
    if place or len(years) == 1:
        named = [choice(f"{day:%B %Y}", key) for key, day in months.items()]
        return DateHierarchy(choice("All dates", None) if place else None, named)
    return DateHierarchy(None, [choice(year, year) for year in years])


def _format_day(day: date) -> str:
    return f"{day.day} {day:%B}"
