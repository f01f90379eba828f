"""A connected mailbox as a person uses it: connected, read, snoozed here and in another program, and back."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, expect
from sqlalchemy import Engine, text

from snoozer.mail.html_sanitizer import sanitize
from snoozer.settings import Settings
from tests.browser.conftest import Opened, Site
from tests.conftest import missing
from tests.imap import dovecot
from tests.imap.dovecot import Dovecot
from tests.imap.watched import MailProgram, Place, watched
from tests.mail.html_attacks import ATTACKS
from tests.web.letters import a_letter, a_newsletter, a_week

pytestmark = [pytest.mark.browser, pytest.mark.dovecot]

HERE = Path(__file__).parent
CHECKS = [(HERE / name).read_text(encoding="utf-8").partition("\n")[2] for name in ("accessibility.js", "contrast.js")]
_numbers = itertools.count(1)


def looks_right(page: Page) -> bool:
    """Fits the screen; every control has a name and a size to touch; all text can be read."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert [page.evaluate(check) for check in CHECKS] == [[], []]
    return True


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"allow_private_mailboxes": True, "mailbox_poll": 1.0})


@pytest.fixture(scope="module")
def server() -> Iterator[Dovecot]:
    if not dovecot.is_installed():
        missing("dovecot")
    with dovecot.running() as running:
        yield running


@pytest.fixture
def place(engine: Engine, site: Site, server: Dovecot) -> Iterator[Place]:
    """Ann's mailbox, connected and empty."""
    name = f"browser{next(_numbers)}"
    with watched(engine, site.settings, site.ann, port=server.imap_port, username=name) as place:
        yield place


def connect(page: Page, server: Dovecot, *, username: str) -> None:
    """In the settings, with a wrong password first."""
    page.keyboard.type("ann@no-such-domain.invalid")
    page.keyboard.press("Enter")
    page.get_by_label("Server", exact=True).fill("localhost")
    page.get_by_label("Port").fill(str(server.imap_port))
    page.get_by_label("Security").select_option("None")
    page.get_by_label("User name", exact=True).fill(username)
    page.get_by_label("Password", exact=True).fill("not-the-password")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("did not accept the user name and the password")
    page.get_by_label("Password", exact=True).fill(dovecot.PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Read its mail").press("Enter")
    page.wait_for_url("**/mail")


def open_folder(page: Page, name: str, *, is_wide: bool) -> None:
    if is_wide:
        page.get_by_role("navigation", name="Folders").get_by_role("link", name=name).press("Enter")
    else:
        choice = page.get_by_label("Folder", exact=True)
        choice.select_option(choice.get_by_role("option", name=name).get_attribute("value"))
        page.get_by_role("button", name="Open").press("Enter")


@pytest.mark.parametrize(
    ("width", "scheme", "scripts"), [(1440, "light", True), (360, "dark", False)], ids=["wide", "narrow, no scripts"]
)
def test_mail_is_read_snoozed_here_and_elsewhere_and_comes_back(
    quiet: Opened, site: Site, engine: Engine, server: Dovecot, width: int, scheme: str, scripts: bool
) -> None:
    """By keyboard alone."""
    program = MailProgram(server.imap_port, f"story{width}")
    for original in a_week():
        program.deliver(original)
    page = quiet(
        "/settings/mailboxes/connect",
        width=width,
        color_scheme=scheme,
        java_script_enabled=scripts,
        has_touch=width < 500,
        is_mobile=width < 500,
    )
    connect(page, server, username=f"story{width}")
    inbox = page.url
    assert looks_right(page)
    page.get_by_role("link", name="Offer", exact=True).press("Enter")
    expect(page.get_by_role("heading", name="Offer", exact=True)).to_be_visible()
    assert looks_right(page)
    if scripts:
        expect(page.get_by_role("button", name="Mark as unread")).to_be_visible()
        page.wait_for_load_state()
        page.keyboard.press("b")
        page.keyboard.type("3")
        page.keyboard.press("Enter")
    else:
        page.get_by_role("button", name="Mark as read").press("Enter")
        page.get_by_role("link", name="Snooze", exact=True).press("Enter")
        expect(page.get_by_label("When should it come back?")).to_be_visible()
        assert looks_right(page)
        page.get_by_role("group", name="Usual times").get_by_role("button").nth(2).press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Asleep until")
    assert page.url.partition("?")[0] == inbox
    expect(page.get_by_role("link", name="Offer", exact=True)).to_have_count(0)
    with engine.connect() as connection:
        mailbox_id = connection.execute(text("SELECT id FROM mailboxes")).scalar_one()
    place = Place(engine, site.settings, site.ann, program, mailbox_id, "", f"story{width}")
    try:
        place.start()
        place.eventually(lambda: place.asleep() == 1)
        program.move("INBOX", "Snooze.Tomorrow", uids="3")
        place.eventually(lambda: place.asleep() == 2)
        page.goto(inbox)
        open_folder(page, "Snoozed", is_wide=width > 500)
        expect(page.locator(".list [data-row]")).to_have_count(2)
        assert looks_right(page)
        place.make_due()
        place.eventually(lambda: program.count("Snoozed") == 0)
        page.goto(inbox)
        for subject in ("Offer", "🎉 Launch party"):
            expect(page.locator("[data-row].unread").filter(has_text=subject)).to_have_count(1)
        assert looks_right(page)
    finally:
        place.stop()
        program.close()


def test_keys_move_search_and_leave(opened: Opened, place: Place) -> None:
    for subject in ("First", "Second"):
        place.program.deliver(bytes(a_letter(subject)))
    page = opened(f"/mailboxes/{place.mailbox_id}/mail", width=1440)
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="First", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="First").get_by_role("heading", name="First")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_role("link", name="First", exact=True)).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("subject:Second")
    page.keyboard.press("Enter")
    expect(page.locator(".list [data-row]")).to_have_count(1)
    page.wait_for_load_state()
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(page.get_by_role("status")).to_contain_text("Done.")
    page.keyboard.press("z")
    expect(page.get_by_role("link", name="Second", exact=True)).to_be_visible()


def test_keys_do_nothing_to_another_message_of_the_conversation(opened: Opened, place: Place) -> None:
    place.program.deliver(bytes(a_letter("First", Message_ID="<first@mail.example>")))
    place.program.deliver(bytes(a_letter("Second", In_Reply_To="<first@mail.example>")))
    page = opened(f"/mailboxes/{place.mailbox_id}/mail", width=1000)
    page.get_by_role("link", name="Second", exact=True).click()
    expect(page.get_by_role("heading", name="Conversation")).to_be_visible()
    page.wait_for_load_state()
    page.get_by_role("link", name="First", exact=True).focus()
    page.keyboard.press("e")
    expect(page.get_by_role("status")).to_contain_text("choose a message first")
    assert place.program.count("INBOX") == 2


def test_a_message_in_html_sends_nothing_and_its_links_open_elsewhere(quiet: Opened, site: Site, place: Place) -> None:
    place.program.deliver(a_newsletter())
    page = quiet(f"/mailboxes/{place.mailbox_id}/mail", width=1440)
    page.get_by_role("link", name="Summer in the mountains", exact=True).click()
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append(dialog.message))
    page.get_by_role("link", name="Show as HTML").click()
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", name="Summer")).to_be_visible()
    expect(frame.get_by_alt_text("The logo")).to_be_visible()
    assert frame.get_by_alt_text("The logo").evaluate("picture => picture.naturalWidth") == 1
    expect(frame.get_by_text("A picture from elsewhere")).to_be_visible()
    assert looks_right(page)
    assert [url for url in asked if not url.startswith((site.url, "data:"))] == []
    page.context.route(
        "https://club.example/**", lambda route: route.fulfill(body="<script>document.title = 1</script>")
    )
    with page.expect_popup() as opening:
        frame.get_by_role("link", name="See them all").click()
    assert opening.value.evaluate("opener") is None
    assert opening.value.evaluate("document.referrer") == ""
    page.get_by_role("link", name="Show as text").click()
    expect(page.locator("iframe")).to_have_count(0)


def test_no_attack_runs_or_asks_for_anything_even_without_the_frame(opened: Opened, quiet: Opened) -> None:
    """As pages that may run scripts and load everything: what was sanitised is harmless by itself."""
    page = opened("about:blank")
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    page.on("request", note)
    for attack in ATTACKS:
        page.set_content(f"<main>{sanitize(attack)}</main>")
    page.set_content("".join(map(sanitize, ATTACKS)))
    for element in page.locator("body *").all()[:40]:
        element.dispatch_event("mouseover")
        element.dispatch_event("focus")
    assert asked == []
    unsafe = quiet("about:blank")
    unsafe.on("request", note)
    unsafe.set_content("<img src=http://127.0.0.1:9/x>")
    unsafe.wait_for_load_state("networkidle")
    assert len(asked) == 1, "a request would have been noticed"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_the_sheet_says_how_many_leave_and_offers_one_alone(
    quiet: Opened, place: Place, width: int, scheme: str
) -> None:
    place.program.deliver(bytes(a_letter("Offer", Message_ID="<1@mail.example>")))
    place.program.deliver(bytes(a_letter("Re: Offer", Message_ID="<2@mail.example>", References="<1@mail.example>")))
    place.program.deliver(bytes(a_letter("Re: Offer", Message_ID="<3@mail.example>", References="<1@mail.example>")))
    place.program.deliver(bytes(a_letter("Alone", Message_ID="<4@mail.example>")))
    page = quiet(f"/mailboxes/{place.mailbox_id}/mail", width=width, color_scheme=scheme)
    sheet, count = page.get_by_role("dialog"), "3 messages of this conversation"
    only = sheet.get_by_label("Only this message")
    page.get_by_role("link", name="Snooze: Alone").press("Enter")
    expect(sheet).to_be_visible()
    expect(only).to_be_hidden()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Snooze: Re: Offer").press("Enter")
    expect(sheet.get_by_text(count)).to_be_visible()
    expect(only).not_to_be_checked()
    assert looks_right(page)
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Re: Offer", exact=True).press("Enter")
    page.get_by_role("link", name="Snooze", exact=True).press("Enter")
    expect(sheet.get_by_text(count)).to_be_visible()
    page.keyboard.press("Escape")
    page.go_back()
    page.get_by_role("link", name="Snooze: Re: Offer").press("Enter")
    page.keyboard.type("3 days")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text(count)
    assert {row.message_id for row in place.rows("SELECT message_id FROM messages")} == {
        f"<{number}@mail.example>" for number in (1, 2, 3)
    }
    [snooze] = place.rows("SELECT id FROM email_snoozes")
    page.goto(f"/snoozes/{snooze.id}")
    expect(page.get_by_text(count)).to_be_visible()
