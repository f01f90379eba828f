"""Returned messages as an Atom feed (RFC 4287), written with the standard library."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, UUID, uuid5
from xml.etree import ElementTree

from snoozer.db.feeds import Feed
from snoozer.db.queries import Found
from snoozer.notify.feeds.calendar import one_line, printable
from snoozer.translations import gettext as _

NAMESPACE = "http://www.w3.org/2005/Atom"


def as_atom(rows: Sequence[Found], *, feed: Feed, pages: str, language: str) -> bytes:
    """The feed of these returns, newest first; `pages` is the base URL of the snoozes' pages. It does not contain its
    own address, which is its secret."""
    root = ElementTree.Element("feed", {"xmlns": NAMESPACE, "xml:lang": language})
    _add(root, "id", _urn(uuid5(NAMESPACE_URL, f"snoozer feed {feed.id} {feed.created_at.astimezone(UTC)}")))
    _add(root, "title", "Snoozer")
    _add(root, "updated", _time(rows[0].sent_at if rows else feed.created_at))
    _add(_add(root, "author"), "name", "Snoozer")
    for row in rows:
        entry = _add(root, "entry")
        promise = f"{row.created_at.astimezone(UTC)} {row.scheduled_for.astimezone(UTC)}"
        _add(entry, "id", _urn(uuid5(NAMESPACE_URL, f"snoozer:{row.message_id} {promise}")))
        texts = feed.shows_subject
        _add(entry, "title", (one_line(row.subject) or _("No subject")) if texts else _("A message is back"))
        _add(entry, "updated", _time(row.sent_at))
        _add(entry, "published", _time(row.sent_at))
        _add(entry, "link", rel="alternate", href=f"{pages}/{row.snooze_id}")
        if texts and row.note:
            _add(entry, "summary", printable(row.note))
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _add(parent: ElementTree.Element, name: str, text: str | None = None, **attributes: str) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, name, attributes)
    child.text = text
    return child


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _urn(id: UUID) -> str:
    return f"urn:uuid:{id}"
