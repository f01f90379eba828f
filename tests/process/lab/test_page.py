"""The page of the lab in Chromium, against its real processes. Whole by `make storm`, a sample elsewhere."""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import axe
from tests.process.lab.conftest import WHOLE, Open, RunningLab, a_lab, until

pytestmark = [pytest.mark.browser, pytest.mark.chaos]

STEPS = ("Claim", "Lease", "Token", "Ledger", "Mark", "Dot", "Recovery", "Breaker", "Isolation")
SAMPLE = ("Claim", "Dot")
TIMES = 10 if WHOLE else 1
LONG = 600_000
# Of the sample: enough to meet most of the buttons.
MESSAGES, FAULTS = ("add-10000", 50) if WHOLE else ("add-100", 6)
# A poison row ends in a case only after five workers; a tour has that. The others come in any order.
BUTTONS = (
    *("add-1", "add-100", "start", "kill", "kill", "kill", "freeze", "thaw", "before-dot", "after-dot", "clock"),
    *("stop-mail", "start-mail", "slow", "drop", "restart-postgres", "lock", "cut"),
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningLab]:
    """One for all: each test counts from where the one before left it."""
    with a_lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.mark.timeout(5400 if WHOLE else 240)
def test_the_tour_keeps_the_promise_and_the_naive_loop_does_not(lab: RunningLab, open_page: Open) -> None:
    page = open_page()
    for _ in range(TIMES):
        before = lab.verdict("naive")
        if WHOLE:
            page.get_by_role("button", name="Play all nine").click()
            expect(page.get_by_role("button", name="End the tour")).to_be_visible()
            wait_for_the_tour(page)
        else:
            for title in SAMPLE:
                step(page, title).click()
                expect(page.get_by_role("button", name="End the tour")).to_be_visible()
                wait_for_the_tour(page)
        for title in STEPS if WHOLE else SAMPLE:
            expect(step(page, title)).to_contain_text("kept")
            expect(step(page, title)).not_to_contain_text("not kept")
        ours, naive = lab.verdict(), lab.verdict("naive")
        assert (ours["lost"], ours["unmarked"]) == (0, 0), ours["named"]
        assert naive["lost"] + naive["copies"] > before["lost"] + before["copies"]
    expect(page.get_by_role("row", name="Snoozer")).to_be_visible()


@pytest.mark.timeout(3600 if WHOLE else 240)
def test_the_judge_agrees_with_a_count_of_its_own_after_faults_at_random(lab: RunningLab, open_page: Open) -> None:
    """The count knows neither the judge nor the product: it reads the mail server's file and the rows."""
    rng = Random(21)
    page = open_page()
    lab.press(f"acts/{MESSAGES}")
    for _ in range(FAULTS):
        button = rng.choice(BUTTONS)
        page.locator(f'#faults button[formaction$="/acts/{button}"]').click()
        page.wait_for_timeout(rng.uniform(100, 1500))
    lab.press("acts/heal")
    until(lambda: lab.verdict()["waiting"] == 0, seconds=1800 if WHOLE else 120)
    # A second copy may still leave while its row lives.
    living = "SELECT count(*) FROM email_snoozes WHERE NOT inactive"
    until(lambda: lab.ask(living)[0][0] == 0, seconds=1800 if WHOLE else 120)
    promised = {id for (id,) in lab.ask("SELECT message_id FROM email_snoozes")}
    mails = [fact for fact in lab.facts() if fact["rcpt"].endswith("@lab.example")]
    arrived = [fact["in_reply_to"] for fact in mails]
    copies = {id for id, count in Counter(arrived).items() if count > 1}
    same = {id: {(fact["message_id"], fact["sha256"]) for fact in mails if fact["in_reply_to"] == id} for id in copies}
    found = lab.verdict()
    assert found["promised"] == len(promised)
    cases = {id for (id,) in lab.ask("SELECT message_id FROM email_snoozes WHERE outcome = 'retired'")} - set(arrived)
    assert found["sent"] == len(set(arrived)) == len(promised) - len(cases)
    assert found["twice"] == len(copies)
    assert found["copies"] == len(arrived) - len(set(arrived))
    assert (found["lost"], found["cases"], found["unmarked"]) == (0, len(cases), 0), found["named"]
    assert [id for id, kinds in same.items() if len(kinds) > 1] == []


def test_a_tab_that_was_closed_goes_on_where_the_lab_is(lab: RunningLab, open_page: Open) -> None:
    before, first = lab.verdict()["sent"], open_page()
    first.get_by_role("button", name="Add 1", exact=True).click()
    expect(first.locator("#answer")).to_contain_text("One message is snoozed")
    first.close()
    until(lambda: lab.verdict()["sent"] == before + 1)
    again = open_page()
    expect(sent(again)).to_have_text(f"{before + 1:,}")
    again.get_by_role("button", name="Add 1", exact=True).click()
    expect(sent(again)).to_have_text(f"{before + 2:,}")


def test_no_rule_of_axe_is_broken_in_any_size(lab: RunningLab, open_page: Open) -> None:
    lab.press("acts/refuse")
    lab.press("acts/add-100")
    # What fades in has less contrast for a moment.
    page = open_page(reduced_motion="reduce")
    step(page, "Claim").click()
    wait_for_the_tour(page)
    assert axe.at_every_size(page) == []
    for width in (320, 390, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe.violations(open_page("/lab/source/snoozer/db/sql/queue/claim.sql")) == []


def test_it_works_without_scripts(lab: RunningLab, open_page: Open) -> None:
    before, page = lab.verdict()["sent"], open_page(java_script_enabled=False)
    page.get_by_role("button", name="Add 1", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("One message is snoozed")
    until(lambda: lab.verdict()["sent"] == before + 1)
    page.reload()
    expect(sent(page)).to_have_text(f"{before + 1:,}")


def test_with_reduced_motion_nothing_glides(lab: RunningLab, open_page: Open) -> None:
    before, page = lab.verdict()["sent"], open_page(reduced_motion="reduce")
    page.evaluate("() => { Element.prototype.animate = () => { throw new Error('it moves') } }")
    page.get_by_role("button", name="Add 100", exact=True).click()
    until(lambda: lab.verdict()["sent"] >= before + 50)
    until(lambda: page.evaluate("Number(document.body.dataset.seen) > 5"))


def sent(page: Page) -> Locator:
    """How many the judge counted."""
    return page.get_by_role("row", name="Snoozer").get_by_role("cell").nth(1)


def step(page: Page, title: str) -> Locator:
    """The button of a step."""
    return page.get_by_role("region", name="The tour").get_by_role("button", name=title)


def wait_for_the_tour(page: Page) -> None:
    expect(page.get_by_role("button", name="Play all nine")).to_be_visible(timeout=LONG)
