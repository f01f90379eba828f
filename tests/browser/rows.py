"""The rows of a list in the browser, and requests that wait."""

from playwright.sync_api import Locator, Page, Route
from sqlalchemy import Engine, text

from tests.factories import a_kept_message

# The key of the preset that is offered at every hour.
TOMORROW = "3"


def letters(engine: Engine, count: int = 10) -> None:
    """Letter 1 is the first row."""
    for number in range(count, 0, -1):
        a_kept_message(engine, subject=f"Letter {number}", message_id=f"<{number}@mail.example>")


def folders(engine: Engine) -> dict[str, str]:
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT subject, folder FROM messages")).all()
    return {row.subject.removeprefix("Letter "): row.folder for row in rows}


def shown(page: Page) -> list[str]:
    return [words.removeprefix("Letter ") for words in page.locator(".row:visible .row-title").all_inner_texts()]


def box_of(page: Page, title: str) -> Locator:
    """The box that selects the row of this title."""
    return page.locator(".row", has=page.get_by_role("link", name=title, exact=True)).get_by_role("checkbox")


def focused(page: Page) -> str:
    words: str = page.evaluate("document.activeElement.textContent.trim()")
    return words.removeprefix("Letter ")


def watched(page: Page) -> Page:
    """The page says later whether it was loaded anew."""
    page.evaluate("window.same = true")
    return page


def is_same(page: Page) -> bool:
    return bool(page.evaluate("window.same === true"))


def hold(page: Page, pattern: str) -> list[Route]:
    """Requests to the pattern wait in the list until they are continued or aborted."""
    held: list[Route] = []
    page.route(pattern, lambda route: held.append(route))  # noqa: PLW0108 - playwright looks into the function
    return held


def release(page: Page, held: list[Route]) -> None:
    """Lets the next request go, as soon as it was made."""
    while not held:
        page.wait_for_timeout(10)
    held.pop(0).continue_()
