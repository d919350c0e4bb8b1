"""What the audit's templates cannot look up by themselves."""

from django import template

from agents.charts import label

register = template.Library()
register.filter("reason_label", label)
