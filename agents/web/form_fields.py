"""Form fields that pages of several apps share."""

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

_WHOLE_NUMBER = re.compile(r"[+-]?(\d{1,12}|\d{1,3}(,\d{3}){1,3})", re.ASCII)


class WholeNumberField(forms.IntegerField):
    """A whole number as people write it, also with commas; not a fraction, not a power."""

    widget = forms.TextInput

    def to_python(self, value: Any) -> int | None:
        text = str(value or "").strip()
        if not text:
            return None
        if not _WHOLE_NUMBER.fullmatch(text):
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return int(text.replace(",", ""))
