"""Sanitizes HTML of strangers for a separate frame: no scripts, no forms, no external content.

nh3 (Ammonia) decides what stays. It parses as browsers do, which takes quadratic time on nested elements, so its input
is first rewritten from the tags of the page: closed, and at most `MAX_DEPTH` deep.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

import nh3

from snoozer.mail.html_to_text import HIDDEN, NEXT_TAG, VOID, after_hidden, tag_end, unescape_bounded

# The worst of that length takes two seconds; what is longer is shown as text.
MAX_HTML = 200_000
MAX_DEPTH = 200
# Limit for a picture that is embedded into the page.
MAX_DATA_URL = 400_000
# Limit for all of them: a page may show a picture hundreds of times, each of which is a copy.
MAX_EMBEDDED = 5_000_000


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BLOCKS = _names(
    "address article aside blockquote center dd details div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header hr "
    "li main nav ol p pre section summary ul"
)
_TABLES = _names("table caption colgroup col thead tbody tfoot tr td th")
_WORDS = _names(
    "a abbr acronym b bdi bdo big br cite code del dfn em font i img ins kbd mark q s samp small span strike strong "
    "sub sup time tt u var wbr"
)
TAGS = _BLOCKS | _TABLES | _WORDS
_ATTRIBUTES = {
    "*": _names("dir lang style title"),
    "a": _names("href"),
    "img": _names("alt height src width"),
    "font": _names("color face size"),
    "ol": _names("start type"),
    "table": _names("align bgcolor border cellpadding cellspacing height width"),
    **{tag: _names("align bgcolor colspan height rowspan valign width") for tag in _TABLES - {"table", "caption"}},
    **{tag: _names("align") for tag in _names("div p h1 h2 h3 h4 h5 h6 hr")},
}
_WRITTEN = frozenset[str]().union(*_ATTRIBUTES.values())
# Browsers implicitly close these elements where another begins, and reopen them, each time: a few hundred kilobytes of
# input become gigabytes. So we do the same, but reopen at most MAX_REOPENED characters.
MAX_REOPENED = 20_000
_REOPENED = _names("a b big code em font i s small strike strong tt u")
_CELLS = _names("td th caption")
_ROWS = _names("thead tbody tfoot")
_LISTED = {"li": _names("li"), **dict.fromkeys(("dt", "dd"), _names("dt dd"))}
# The allowed parents of an element of a table.
_PLACES = {
    **dict.fromkeys(("caption", "colgroup", *_ROWS), _names("table")),
    "col": _names("colgroup table"),
    "tr": _ROWS | {"table"},
    **dict.fromkeys(("td", "th"), _ROWS | {"tr", "table"}),
}
_SIDES = ("", "-top", "-right", "-bottom", "-left")
_STYLES = _names(
    "background background-color border-collapse border-radius border-spacing caption-side clear color direction "
    "display float font font-family font-size font-style font-variant font-weight height letter-spacing line-height "
    "list-style list-style-type max-height max-width min-height min-width opacity overflow-wrap table-layout "
    "text-align text-decoration text-indent text-transform unicode-bidi vertical-align visibility white-space width "
    "word-break word-spacing"
) | {
    *(f"{kind}{side}" for kind in ("margin", "padding") for side in _SIDES),
    *(f"border{side}{part}" for side in _SIDES for part in ("", "-color", "-style", "-width")),
}
# Only the functions of colours, and no escapes: no references to other files, and no values that a browser would
# compute.
_STYLE_VALUE = re.compile(r"""(?:[\w\s#%.,!+/'"-]|\b(?:rgb|hsl)a?\([\d\s.,%/+-]*\))*""", re.ASCII)
_QUOTES = frozenset({'"', "'"})
_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?""")
_LINK = re.compile(r"(?:https?|mailto|tel):", re.IGNORECASE)
_PICTURE = re.compile(r"data:image/(?:png|jpeg|jpg|gif|webp|bmp);base64,[A-Za-z0-9+/=\s]+", re.IGNORECASE)


def sanitize(html: str, *, pictures: Mapping[str, str] | None = None) -> str:
    """A fragment that runs, sends and loads nothing; links open in a new tab, and may lead anywhere.

    `pictures` are `data:` URLs by the Content-ID that an image refers to (`cid:`); every other image is replaced by its
    alternative text. Input longer than `MAX_HTML` is truncated.
    """
    known = pictures or {}

    def attribute(tag: str, name: str, value: str) -> str | None:
        if name == "style":
            return _style(value)
        if name == "href":
            return value if _LINK.match(value.strip()) else None
        return _source(value.strip(), known) if name == "src" else value

    return nh3.clean(
        _written_anew(html[:MAX_HTML], known),
        tags=set(TAGS),
        clean_content_tags={"script", "style", "title", "template"},
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        attribute_filter=attribute,
        url_schemes={"http", "https", "mailto", "tel", "cid", "data"},
        url_relative="deny",
        link_rel="noopener noreferrer",
        set_tag_attribute_values={"a": {"target": "_blank"}},
        filter_style_properties=set(_STYLES),
    )


def content_ids(html: str) -> set[str]:
    """The Content-IDs to which the images of a page refer, within the size limit of a page."""
    return {unescape_bounded(found) for found in re.findall(r"""\bcid:([^\s"'<>)]{1,200})""", html[:MAX_HTML])}


def _style(value: str) -> str | None:
    """The harmless declarations, unchanged."""
    kept = []
    for declaration in value.split(";"):
        name, colon, setting = declaration.partition(":")
        if colon and name.strip().lower() in _STYLES and _STYLE_VALUE.fullmatch(setting):
            kept.append(declaration.strip())
    return ";".join(kept) or None


def _source(value: str, pictures: Mapping[str, str]) -> str | None:
    if value.lower().startswith("cid:"):
        value = pictures.get(value[len("cid:") :], "")
    return value if len(value) <= MAX_DATA_URL and _PICTURE.fullmatch(value) else None


def _written_anew(html: str, pictures: Mapping[str, str]) -> str:
    """The same page with only the allowed tags, each closed, none deeper than `MAX_DEPTH`, and without comments."""
    page = _Page(pictures)
    position = 0
    while (tag := NEXT_TAG.search(html, position)) is not None:
        page.out.append(html[position : tag.start()].replace("<", "&lt;"))
        name = (tag.group(1) or "").lower()
        position = tag_end(html, tag)
        if tag.group().startswith("</"):
            page.close(name)
        elif name in HIDDEN:
            position = after_hidden(html, name, position)
        elif name in TAGS:
            page.open(name, _attributes(html[tag.end() : position]))
    page.out.append(html[position:].replace("<", "&lt;"))
    page.close_last(len(page.stack))
    return "".join(page.out)


class _Element(NamedTuple):
    """An open element, and the text of its tag."""

    name: str
    tag: str


class _Page:
    """The output: an HTML parser neither closes nor opens any element in it implicitly."""

    def __init__(self, pictures: Mapping[str, str]) -> None:
        self.out: list[str] = []
        self.stack: list[_Element] = []
        self._open = Counter[str]()
        self._pictures = pictures
        self._may_reopen = MAX_REOPENED
        self._may_embed = MAX_EMBEDDED

    def open(self, name: str, attributes: dict[str, str]) -> None:
        if name == "img" and not self._embeds(attributes.get("src", "").strip()):
            self.out.append(escape(attributes.get("alt", "")))
            return
        if name in _PLACES and not self._open["table"]:
            return
        implied = self._implied(name)
        closed = self.stack[len(self.stack) - implied :]
        self.close_last(implied)
        self._reopen([each for each in closed if each.name in _REOPENED - {name} and name not in _TABLES])
        tag = f"<{name}" + "".join(f' {key}="{escape(value)}"' for key, value in attributes.items()) + ">"
        if name not in VOID:
            if len(self.stack) >= MAX_DEPTH:
                return
            self._push(_Element(name, tag))
        self.out.append(tag)

    def close(self, name: str) -> None:
        """Closes the element and its open descendants; ignores an end tag without a start, or outside of the current
        cell."""
        for count, opened in enumerate(reversed(self.stack), start=1):
            if opened.name == name:
                return self.close_last(count)
            if opened.name in {"td", "th"} and name not in _TABLES:
                return None
        return None

    def close_last(self, count: int) -> None:
        for _ in range(count):
            name = self.stack.pop().name
            self._open[name] -= 1
            self.out.append(f"</{name}>")

    def _embeds(self, source: str) -> bool:
        """Whether this picture is shown; it counts towards the limit of all pictures then."""
        picture = _source(source, self._pictures)
        if picture is None or len(picture) > self._may_embed:
            return False
        self._may_embed -= len(picture)
        return True

    def _push(self, element: _Element) -> None:
        self.stack.append(element)
        self._open[element.name] += 1

    def _implied(self, name: str) -> int:
        """The number of open elements that are closed by the start of this one."""
        if name in _WORDS and name != "a":
            return 0
        ended = _LISTED.get(name, frozenset()) | (
            {"a"} if name == "a" else {"p", "table"} if name == "table" else {"p"}
        )
        if name not in _PLACES and not any(self._open[each] for each in ended):
            return 0
        names = [each.name for each in reversed(self.stack)]
        if name in _PLACES:
            return next(count for count, each in enumerate(names) if each in _PLACES[name])
        implied = 0
        for count, each in enumerate(names, start=1):
            if each in _CELLS or (each in _TABLES and name != "table"):
                break
            if each in ended:
                implied = count
            if each in _BLOCKS and (name == "a" or (name in _LISTED and each not in {"address", "div", "p"})):
                break
        return implied

    def _reopen(self, elements: Sequence[_Element]) -> None:
        size = sum(len(each.tag) for each in elements)
        if size <= self._may_reopen:
            self._may_reopen -= size
            for each in elements:
                self._push(each)
                self.out.append(each.tag)


def _attributes(written: str) -> dict[str, str]:
    """The allowed attributes, the first of each name."""
    found: dict[str, str] = {}
    for key, value in _ATTRIBUTE.findall(written):
        if key.lower() in _WRITTEN:
            found.setdefault(key.lower(), unescape_bounded(value[1:-1] if value[:1] in _QUOTES else value))
    return found
