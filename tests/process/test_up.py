"""What a person does on a fresh machine: `snoozer up`, sign in, snooze, wait a minute, follow the link, press Done."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import HANG_MILLISECONDS
from tests.imap.server_process import free_port
from tests.process.conftest import ROOT, TIMEOUT

pytestmark = pytest.mark.browser

MILLISECONDS = 1000


@pytest.fixture
def sign_in_link(tmp_path: Path) -> Iterator[str]:
    """The link that `snoozer up` prints on a home that has never been used."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SNOOZER_", "DATABASE_"))}
    up = subprocess.Popen(
        [sys.executable, "-m", "snoozer", "up", "--no-open", "--port", str(free_port())],
        cwd=ROOT,
        env=inherited | {"SNOOZER_HOME": str(tmp_path / "home")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert up.stdout is not None
    output = []
    for line in up.stdout:
        output.append(line)
        link = re.match(r"http://\S+/sign-in/\S+", line)
        if link:
            yield link.group()
            break
    else:
        pytest.fail("".join(output))
    up.send_signal(signal.SIGINT)
    up.communicate(timeout=TIMEOUT)
    assert up.returncode == 0


def test_a_person_snoozes_a_message_for_a_minute_and_is_done_with_it(chromium: Browser, sign_in_link: str) -> None:
    context = chromium.new_context()
    context.set_default_timeout(HANG_MILLISECONDS)
    page = context.new_page()
    page.goto(sign_in_link)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Mailbox").first.click()
    # A sample that has its subject for itself: a conversation's other messages stay in the list.
    subject = "Forty ways to cook a leek"
    page.get_by_role("link", name=subject, exact=True).click()
    page.get_by_role("link", name="Snooze", exact=True).click()
    page.get_by_label("When should it come back?").fill("in 1 minute")
    page.get_by_role("button", name="Snooze", exact=True).last.click()

    page.get_by_role("link", name="Asleep").first.click()
    expect(page.get_by_role("link", name=subject, exact=True)).to_be_visible()
    page.get_by_role("link", name="Mailbox").first.click()
    expect(page.get_by_role("link", name=subject, exact=True)).to_have_count(0)

    mail_sink = context.new_page()
    _wait_for_the_mail(mail_sink, address=sign_in_link.partition("/sign-in/")[0] + "/sink", subject=subject)
    page.reload()
    top = page.locator("li.row").first
    expect(top).to_contain_text(subject)
    expect(top).to_contain_text("Back")

    mail_sink.get_by_role("link", name=subject, exact=True).first.click()
    with mail_sink.expect_popup() as opened:
        mail_sink.frame_locator("iframe.message-frame").get_by_role("link", name="Done").click()
    opened.value.get_by_role("button", name="Done").click()
    expect(opened.value.get_by_text("You are done with it")).to_be_visible()
    page.reload()
    expect(page.get_by_role("link", name=subject, exact=True)).to_have_count(0)


def _wait_for_the_mail(sink: Page, *, address: str, subject: str) -> None:
    """The minute is a real one: the page is asked again until the reminder lies there."""
    ends = time.monotonic() + TIMEOUT
    while time.monotonic() < ends:
        sink.goto(address)
        if sink.get_by_role("link", name=subject, exact=True).count():
            return
        sink.wait_for_timeout(MILLISECONDS)
    pytest.fail("the reminder did not come")
