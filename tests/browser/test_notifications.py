"""Notifications in the browser: asked for after a click, subscribed, listed, and what their buttons do.

Chromium without a window has no push service, so its PushManager is replaced; what a push holds is given to the worker
as the browser would.
"""

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine, text

from tests.browser.conftest import Opened, Site
from tests.browser.phone import looks_right
from tests.browser.touch import PHONE
from tests.db.pushes import comes_back, the_sender
from tests.factories import the_events
from tests.push_service import PushService, Subscription, subscribe

# A subscription of the tests' keys, which the page can end.
STUB = """
([endpoint, p256dh, auth]) => {
  let own = null;
  window.asked = 0;
  Notification.requestPermission = async () => { window.asked += 1; return "granted"; };
  const manager = {
    getSubscription: async () => own,
    subscribe: async (options) => {
      window.subscribedWith = options;
      const unsubscribe = async () => { sessionStorage.removeItem("push"); own = null; };
      own = { endpoint, unsubscribe, toJSON: () => ({ endpoint, keys: { p256dh, auth } }) };
      sessionStorage.setItem("push", endpoint);
      return own;
    },
  };
  if (sessionStorage.getItem("push")) manager.subscribe({});
  Object.defineProperty(ServiceWorkerRegistration.prototype, "pushManager", { get: () => manager });
}
"""


@pytest.fixture
def subscription() -> Subscription:
    return Subscription("https://push.example/phone")


@pytest.fixture
def devices_page(quiet: Opened, subscription: Subscription) -> Page:
    page = quiet("about:blank", service_workers="allow", **PHONE)
    page.add_init_script(f"({STUB})({[subscription.url, *subscription.keys]!r})")
    page.goto("/settings/devices")
    return page


def rows(engine: Engine) -> list[Any]:
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT * FROM push_devices")).all())


def test_a_device_is_asked_after_a_click_only_and_then_listed_as_this_one(devices_page: Page, engine: Engine) -> None:
    page = devices_page
    button = page.get_by_role("button", name="Switch on here")
    expect(button).to_be_visible()
    assert page.evaluate("window.asked") == 0
    page.get_by_label("Show the subject").check()
    button.click()
    expect(page.get_by_text("On. It is in the list below.")).to_be_visible()
    expect(page.get_by_text("this one")).to_be_visible()
    [device] = rows(engine)
    assert device.shows_subject
    page.set_viewport_size({"width": 360, "height": 780})
    assert looks_right(page)
    page.get_by_role("button", name="Remove").click()
    expect(button).to_be_visible()
    assert rows(engine) == []


def test_a_browser_whose_push_service_fails_says_so(devices_page: Page, engine: Engine) -> None:
    page = devices_page
    page.evaluate(
        "navigator.serviceWorker.ready"
        ".then((one) => { one.pushManager.subscribe = async () => { throw new Error(); }; })"
    )
    page.get_by_role("button", name="Switch on here").click()
    expect(page.get_by_role("alert")).to_contain_text("could not be subscribed")
    assert rows(engine) == []


def test_a_browser_without_notifications_says_what_to_do(quiet: Opened) -> None:
    page = quiet("about:blank", **PHONE)
    page.add_init_script("delete window.PushManager")
    page.goto("/settings/devices")
    expect(page.get_by_text("add Snoozer to the Home Screen first")).to_be_visible()
    expect(page.get_by_role("button", name="Switch on here")).to_be_hidden()


def test_without_scripts_the_page_says_that_it_needs_them(quiet: Opened) -> None:
    page = quiet("/settings/devices", java_script_enabled=False)
    expect(page.get_by_text("Notifications need JavaScript")).to_be_visible()


# What the worker shows, kept instead of shown.
WATCH = """
(() => {
  self.shown = [];
  self.opened = [];
  self.registration.showNotification = async (title, options) => { self.shown.push({ title, ...options }); };
  Object.defineProperty(self.clients, "openWindow", { value: async (url) => { self.opened.push(url); } });
  Object.defineProperty(self.clients, "matchAll", { value: async () => [] });
})()
"""
PUSH = """
async (text) => {
  const event = new PushEvent("push", { data: text });
  self.dispatchEvent(event);
  await new Promise((resolve) => setTimeout(resolve));
}
"""
CLICK = """
async (action) => {
  const event = new ExtendableEvent("notificationclick");
  event.notification = { data: self.shown.at(-1).data, close: () => {} };
  event.action = action;
  const before = self.shown.length + self.opened.length;
  self.dispatchEvent(event);
  while (self.shown.length + self.opened.length === before) await new Promise((resolve) => setTimeout(resolve, 10));
}
"""


@pytest.fixture
def worker(quiet: Opened, site: Site) -> Any:
    """The service worker of a browser that is signed out."""
    page = quiet("/sign-in", service_workers="allow", signed_in=False, **PHONE)
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    [worker] = page.context.service_workers
    worker.evaluate(WATCH)
    return worker


@pytest.fixture
def pushed(engine: Engine, site: Site) -> str:
    """The text of a push for a message that is back, as the browser decrypts it."""
    with PushService() as service:
        phone = service.subscription()
        subscribe(engine, phone, account_id=site.ann.id, subject=True, keys=site.settings.keys)
        comes_back(engine, subject="Lease")
        sender = the_sender(engine, keys=site.settings.keys)
        claimed = sender.claim()
        assert claimed is not None
        sender.send(claimed)
        return phone.decrypt(service.pushed[0].body).decode()


def test_a_push_shows_one_notification_with_its_buttons(worker: Any, pushed: str) -> None:
    worker.evaluate(PUSH, pushed)
    [shown] = worker.evaluate("self.shown")
    assert (shown["title"], shown["body"]) == ("A message is back", "Lease")
    assert [one["title"] for one in shown["actions"]] == ["Done", "+1 h", "Tomorrow"]
    assert shown["tag"]


def test_a_click_opens_the_message(worker: Any, pushed: str, site: Site) -> None:
    worker.evaluate(PUSH, pushed)
    worker.evaluate(CLICK, "")
    assert worker.evaluate("self.opened") == [f"{site.url}/push/open/1"]


@pytest.mark.parametrize(
    ("button", "words", "event"), [("done", "Done.", "done"), ("tomorrow", "Asleep until", "again")]
)
def test_a_button_acts_on_a_device_that_is_signed_out_and_leads_to_undo(
    button: str, words: str, event: str, worker: Any, pushed: str, engine: Engine, site: Site, quiet: Opened
) -> None:
    worker.evaluate(PUSH, pushed)
    worker.evaluate(CLICK, button)
    shown = worker.evaluate("self.shown.at(-1)")
    assert shown["title"].startswith(words)
    assert shown["silent"]
    assert the_events(engine, 1)[-1] == event
    worker.evaluate(CLICK, "")
    [opened] = worker.evaluate("self.opened")
    expect(quiet(opened.removeprefix(site.url), signed_in=False).get_by_role("button", name="Undo")).to_be_visible()


def test_a_button_pressed_offline_says_that_nothing_was_saved(worker: Any, pushed: str, engine: Engine) -> None:
    worker.evaluate("() => { self.fetch = async () => { throw new TypeError(); }; }")
    worker.evaluate(PUSH, pushed)
    worker.evaluate(CLICK, "done")
    shown = worker.evaluate("self.shown.at(-1)")
    assert shown["body"] == "Not saved: the server cannot be reached."
    assert len(shown["actions"]) == 3
    assert the_events(engine, 1) == []
