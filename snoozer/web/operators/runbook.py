"""The runbook as a page, so that each trouble of the overview can link to its heading."""

import re
from functools import cache

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue
from markdown_it import MarkdownIt

from snoozer.db.models import Account
from snoozer.resources import resource_folder
from snoozer.web.auth import viewer_required

blueprint = Blueprint("admin_runbook", __name__, url_prefix="/admin/runbook")

# The other documents are no pages, so links to them are shown as text.
_LINKS = frozenset({"link_open", "link_close"})


@blueprint.get("")
@viewer_required
def show(account: Account) -> ResponseReturnValue:
    """Symptoms, meaning, commands and cost of each outage, with an anchor at each heading."""
    return render_template("operators/runbook.html", text=_text())


def anchor(heading: str) -> str:
    """Returns the anchor of a heading, as hosts of repositories make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def section(name: str) -> str:
    """Returns what stands under a heading, by its anchor, for a page that shows it when no other page can be opened."""
    _, _, after = _text().partition(f'<h2 id="{name}">')
    return after.partition("</h2>")[2].partition("<h2")[0]


@cache
def _text() -> str:
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse((resource_folder("docs") / "runbook.md").read_text(encoding="utf-8"))
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and following is not None:
            token.attrSet("id", anchor(following.content))
        token.children = [child for child in token.children or () if child.type not in _LINKS]
    return str(markdown.renderer.render(tokens, markdown.options, {}))
