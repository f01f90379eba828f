"""What a browser without scripts posts from a page."""

import re
from html import unescape

from flask.testing import FlaskClient
from werkzeug.test import TestResponse


def shown_reading(response: TestResponse) -> dict[str, str]:
    """Returns the hidden fields of the snooze form that hold the reading it shows."""
    found = re.findall(r'<input type="hidden" name="(seen_\w+)" value="([^"]*)"', response.text)
    return {name: unescape(value) for name, value in found}


def hidden_field(page: str, name: str) -> str:
    """Returns the value of the first hidden field of that name."""
    found = re.search(rf'<input type="hidden" name="{name}" value="([^"]*)"', page)
    assert found is not None
    return unescape(found.group(1))


def press_undo(browser: FlaskClient, page: str) -> TestResponse:
    """Submits the Undo form of the flash message and follows its redirect."""
    form = re.search(r'<form method="post" action="([^"]+)" data-undo>(.*?)</form>', page, re.DOTALL)
    assert form is not None
    fields = {name: unescape(value) for name, value in re.findall(r'name="([^"]+)" value="([^"]*)"', form.group(2))}
    return browser.post(form.group(1), data=fields, follow_redirects=True)
