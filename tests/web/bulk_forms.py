"""Acts on many messages as a browser posts them from the bar of a list."""

import re
from html import unescape
from typing import Any

from flask.testing import FlaskClient


def fields_of(page: str) -> dict[str, str]:
    """The hidden fields of the bar."""
    [form] = re.findall(r'<form method="post" id="bulk".+?</form>', page, re.S)
    return {name: unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form)}


def post(ann: FlaskClient, path: str, data: dict[str, Any]) -> str:
    """The sentence that the list then shows."""
    answer = ann.post(path, data=data, follow_redirects=True)
    assert answer.status_code == 200
    return toast(answer.text)


def toast(page: str) -> str:
    found = re.search(r'<div class="toast">\s*<span>([^<]*)</span>', page)
    return unescape(found[1]) if found else ""
