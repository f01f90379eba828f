"""Web addresses in a message, as a browser reads them: each link goes to the host that is seen."""

from email.message import EmailMessage

import pytest
from playwright.sync_api import expect
from sqlalchemy import Engine

from tests.browser.conftest import Opened
from tests.factories import a_kept_message
from tests.unit.web_addresses import LINKED, LONG, NOT_LINKED

pytestmark = pytest.mark.browser

# The host that each link shows and the one it leads to, and whether letters in front of it turn it around.
READ = """links => links.map(a => [
    a.textContent.replace(/^https?:\\/\\//i, "").split(/[/?#]/)[0].toLowerCase(), a.host, a.protocol,
    getComputedStyle(a).direction, getComputedStyle(a).unicodeBidi, a.rel,
])"""


def a_message(*lines: str) -> bytes:
    message = EmailMessage()
    message["From"], message["Subject"] = "Bob <bob@mail.example>", "Links"
    message.set_content("\n".join(lines))
    return bytes(message)


def test_every_link_leads_to_the_host_that_it_shows(opened: Opened, engine: Engine) -> None:
    texts = [text for text, _ in LINKED] + NOT_LINKED
    id = a_kept_message(
        engine, original=a_message(*texts, "בדיקה https://mail.example/x בדיקה", "https://müller.example")
    )
    page = opened(f"/mailbox/{id}")
    found = page.locator(".message-text a").evaluate_all(READ)
    assert len(found) >= len(LINKED)
    for shown, host, protocol, direction, bidi, rel in found:
        assert host == {"müller.example": "xn--mller-kva.example"}.get(shown, shown)
        assert protocol in {"http:", "https:"}
        assert (direction, bidi, rel) == ("ltr", "isolate", "noopener noreferrer nofollow")
    expect(page.get_by_text("(xn--mller-kva.example)")).to_be_visible()


@pytest.mark.parametrize("width", [320, 1440])
def test_a_very_long_address_is_wrapped_with_its_host_first(width: int, opened: Opened, engine: Engine) -> None:
    page = opened(f"/mailbox/{a_kept_message(engine, original=a_message(LONG))}", width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".message-text a").inner_text().startswith("https://mail.example/aaa")
