"""The page of an operation in a browser: it shows how far it is, and what is in use there stays."""

import pytest
from playwright.sync_api import expect
from sqlalchemy import Engine

from snoozer.operators import chunks
from tests.browser.conftest import Opened
from tests.db.operations import an_operation
from tests.factories import HOUR, a_snooze, now

pytestmark = pytest.mark.browser


def test_the_focus_stays_while_an_operation_is_followed(opened: Opened, engine: Engine) -> None:
    """The whole page was loaded again every two seconds."""
    retired = {"inactive": True, "outcome": "retired", "finished_at": now() - HOUR}
    id = an_operation(engine, act="dismiss", ids=[a_snooze(engine, **retired) for _ in range(3)])
    page = opened(f"/admin/operations/{id}")
    button = page.get_by_role("button", name="Cancel the rest")
    button.focus()
    assert chunks.do_chunk(engine, id, chunk_size=2)
    expect(page.locator("#progress")).to_have_text("Under way")
    expect(page.get_by_role("region", name="Row by row")).to_contain_text("Done 2")
    expect(button).to_be_focused()
    chunks.work(engine)
    expect(page.locator("#progress")).to_have_text("Finished")
    expect(button).to_be_focused()
    page.get_by_role("heading", name="Row by row").click()
    button.blur()
    expect(button).to_have_count(0)
