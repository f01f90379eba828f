"""The site as an installed app: the browser accepts its manifest, its worker answers when the site does not, and what
another app shares comes in."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine, text

from tests.browser.conftest import Opened
from tests.browser.phone import looks_right
from tests.browser.touch import PHONE
from tests.browser.waiting import wait_for
from tests.factories import an_original

ALL_KEPT = """
async () => (await Promise.all((await caches.keys()).map(async (name) =>
  (await (await caches.open(name)).keys()).map((one) => new URL(one.url).pathname)))).flat()
"""


@pytest.fixture
def installed(quiet: Opened) -> Iterator[Page]:
    """A page on a phone that the service worker controls."""
    page = quiet("/mailbox", service_workers="allow", **PHONE)
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    wait_for(page, "navigator.serviceWorker.controller !== null")
    yield page
    page.context.set_offline(False)


def test_the_browser_can_install_it(installed: Page) -> None:
    session = installed.context.new_cdp_session(installed)
    manifest = session.send("Page.getAppManifest")
    assert manifest["errors"] == []
    # Chromium has nothing against it but that this window is of a private profile.
    problems = {one["errorId"] for one in session.send("Page.getInstallabilityErrors")["installabilityErrors"]}
    assert problems <= {"in-incognito"}


def test_offline_it_says_so_and_opens_the_page_when_the_device_is_back(installed: Page) -> None:
    installed.context.set_offline(True)
    installed.goto("/settings")
    expect(installed.get_by_role("heading", level=1, name="You are offline")).to_be_visible()
    assert looks_right_at(installed)
    installed.get_by_role("link", name="Try again").click()
    expect(installed.get_by_role("heading", level=1, name="You are offline")).to_be_visible()
    installed.context.set_offline(False)
    expect(installed.get_by_role("heading", level=1)).to_have_text("Settings")


def test_the_notice_is_in_the_language_of_the_pages(installed: Page, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET locale = 'de_DE'"))
    installed.goto("/settings")
    in_german = (
        "async () => (await (await caches.match('/offline', { ignoreVary: true }))?.text())?.includes('lang=\"de-DE\"')"
    )
    wait_for(installed, in_german)
    kept = installed.evaluate(ALL_KEPT)
    assert kept.count("/offline") == 1
    installed.context.set_offline(True)
    installed.goto("/settings")
    expect(installed.get_by_role("heading", level=1, name="Du bist offline")).to_be_visible()
    installed.context.set_offline(False)
    expect(installed.get_by_role("heading", level=1)).to_have_text("Einstellungen")


def test_the_notice_stays_where_one_in_another_language_cannot_be_kept(installed: Page) -> None:
    """It was deleted before the other one had been stored: offline in between, the browser's own error was shown."""
    [worker] = installed.context.service_workers
    worker.evaluate("() => { Cache.prototype.put = () => Promise.reject(new Error('the device is full')); }")
    worker.evaluate("keepOffline('de-DE').catch(() => null)")
    assert installed.evaluate(ALL_KEPT).count("/offline") == 1


def looks_right_at(page: Page) -> bool:
    page.set_viewport_size({"width": 360, "height": 780})
    return looks_right(page)


def test_nothing_of_a_person_is_kept_on_the_device(installed: Page) -> None:
    for path in ("/", "/mailbox", "/add", "/settings"):
        installed.goto(path)
    kept = installed.evaluate(ALL_KEPT)
    assert "/offline" in kept
    assert [path for path in kept if path != "/offline" and not path.startswith("/static/")] == []


def test_another_version_of_the_shell_takes_the_place_of_the_old(installed: Page) -> None:
    """What an earlier version kept is deleted; a page is not answered from it."""
    installed.evaluate("caches.open('snoozer-shell-of-last-year').then(() => null)")
    installed.evaluate("navigator.serviceWorker.getRegistration().then((one) => one.unregister()).then(() => null)")
    installed.goto("/mailbox")
    wait_for(
        installed,
        "async () => { const names = await caches.keys(); return names.length === 1 && !names[0].endsWith('year'); }",
    )


SHARE = """
async ([fields, file]) => {
  const form = document.createElement("form");
  Object.assign(form, { method: "post", action: "/share", enctype: "multipart/form-data" });
  for (const [name, value] of Object.entries(fields)) {
    const field = document.createElement("input");
    Object.assign(field, { name, value, type: "hidden" });
    form.append(field);
  }
  if (file) {
    const field = document.createElement("input");
    Object.assign(field, { name: "message", type: "file" });
    const taken = new DataTransfer();
    taken.items.add(new File([file], "mail.eml", { type: "message/rfc822" }));
    field.files = taken.files;
    form.append(field);
  }
  document.body.append(form);
  form.submit();
}
"""


def test_a_shared_text_fills_in_the_add_page(installed: Page, engine: Engine) -> None:
    with installed.expect_navigation():
        installed.evaluate(SHARE, [{"title": "Lease", "text": "page 3", "url": "https://flats.example/"}, None])
    expect(installed.get_by_label("What is it about?")).to_have_value("Lease")
    expect(installed.get_by_label("Note")).to_have_value("page 3\nhttps://flats.example/")
    installed.get_by_label("When should it come back?").fill("tomorrow 9am")
    installed.get_by_role("button", name="Snooze", exact=True).click()
    expect(installed.get_by_role("link", name="Lease", exact=True)).to_be_visible()
    with engine.connect() as connection:
        assert connection.execute(text("SELECT subject FROM email_snoozes")).scalars().all() == ["Lease"]


def test_a_shared_message_waits_on_the_add_page_until_it_is_sent(installed: Page, engine: Engine) -> None:
    with installed.expect_navigation():
        installed.evaluate(SHARE, [{"title": "x"}, an_original(subject="Shared").decode()])
    wait_for(installed, "document.getElementById('message').files.length === 1")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM messages")).scalar_one() == 0
    installed.get_by_role("button", name="Put in my mailbox").click()
    expect(installed.get_by_role("heading", level=1, name="Shared")).to_be_visible()
