"""The form that connects a mailbox, sent to a running site."""

import re
from html import unescape
from urllib.parse import urlencode

from tests.web.live_site import LiveSite

CONNECT = "/settings/mailboxes/connect"


def post(site: LiveSite, session: str, fields: dict[str, str]) -> int:
    """Sends the form as a browser does, with the token of its page."""
    _, page = site.request(CONNECT, cookie=f"snoozer_session={session}")
    token, form = re.search(r'name="csrf_token" value="([^"]+)"', page), re.search(r"(snoozer_form=[^;]+)", page)
    assert token is not None
    assert form is not None
    body = urlencode({**fields, "csrf_token": unescape(token[1])}).encode()
    cookies = f"snoozer_session={session}; {form[1]}"
    kind = "application/x-www-form-urlencoded"
    status, _ = site.request(CONNECT, method="POST", body=body, cookie=cookies, content_type=kind)
    return status
