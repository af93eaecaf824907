"""Doctests in docstrings become code blocks on the site; Markdown would quote them."""

import re
from typing import Any

import griffe

# From a prompt to the end of its paragraph.
_DOCTEST = re.compile(r"^([ \t]*)(>>>.*(?:\n(?![ \t]*$).*)*)", re.MULTILINE)


class Doctests(griffe.Extension):
    """Puts fences around each doctest."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrites the object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = _DOCTEST.sub(r"\1```pycon\n\1\2\n\1```", obj.docstring.value)
