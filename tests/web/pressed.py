"""What a browser without scripts sends back from a page."""

import re
from html import unescape

from flask.testing import FlaskClient
from werkzeug.test import TestResponse


def seen(answer: TestResponse) -> dict[str, str]:
    """What a browser sends back from the sheet: its hidden fields."""
    found = re.findall(r'<input type="hidden" name="(seen_\w+)" value="([^"]*)"', answer.text)
    return {name: unescape(value) for name, value in found}


def undo(browser: FlaskClient, page: str) -> TestResponse:
    """Press Undo in the toast, as a browser without scripts would."""
    form = re.search(r'<form method="post" action="([^"]+)" data-undo>(.*?)</form>', page, re.DOTALL)
    assert form is not None
    fields = {name: unescape(value) for name, value in re.findall(r'name="([^"]+)" value="([^"]*)"', form.group(2))}
    return browser.post(form.group(1), data=fields, follow_redirects=True)
