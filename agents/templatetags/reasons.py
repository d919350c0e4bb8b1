"""What the audit's templates cannot look up by themselves."""

from django import template

from agents.web.reason_labels import reason_label

register = template.Library()
register.filter("reason_label", reason_label)
