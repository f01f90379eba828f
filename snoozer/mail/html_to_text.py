"""Converts any HTML to the text a person reads. The result is never HTML, and one pass is enough for any input.

`html.parser` takes quadratic time on unclosed comments and tags (CVE-2025-6069), so a megabyte could block a process
for minutes; this reader keeps the HTML standard's rules for the end of a tag and implements no more than text needs.
"""

import re
from html import unescape

MAX_LENGTH = 200_000
MAX_UNCLOSED = 10

NEXT_TAG = re.compile(r"<!--|<[!?]|</?([a-zA-Z][a-zA-Z0-9]*)")
_TAG_END = re.compile(r"""=\s{0,20}["']|>""")
_COMMENT_END = re.compile("--!?>")
_HREF = re.compile(r"""\bhref\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""", re.IGNORECASE)
_ALT = re.compile(r"""\balt\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""", re.IGNORECASE)
# How senders hide the preview line that lists show next to the subject.
_UNSEEN = re.compile(
    r"""\bstyle\s{0,9}=\s{0,9}["'][^"'>]{0,2000}?(?:display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}hidden"""
    r"""|max-height\s{0,9}:\s{0,9}0(?:px|pt|em|%)?\s{0,9}[;!"'])""",
    re.IGNORECASE,
)
_UNSEEN_ATTRIBUTE = re.compile(r"\shidden(?=[\s>/=])", re.IGNORECASE)
_VALUES = re.compile(r"\"[^\"]*\"|'[^']*'")
VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})
# Mail programs run no scripts, so `noscript` is shown, and load no objects, so their fallback is shown.
HIDDEN = frozenset({"script", "style", "title", "template", "svg", "iframe", "select"})
_PREFORMATTED = frozenset({"pre", "textarea", "listing", "xmp"})
_PARAGRAPHS = frozenset(
    {"blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "listing", "ol", "p", "pre", "table", "ul", "xmp"}
)
_LINES = _PARAGRAPHS | {
    *("address", "article", "aside", "br", "center", "dd", "div", "dl", "dt", "fieldset", "figure", "footer", "form"),
    *("body", "details", "html", "legend", "option", "summary"),
    *("header", "hr", "li", "main", "nav", "section", "tbody", "tfoot", "thead", "tr"),
}
# No character has such a number, and `unescape` raises from 4,301 digits on.
_ENDLESS = re.compile("&#[0-9]{100,};?")
_SPACES = re.compile(r"[ \t\r\f\v\xa0]+")
# Padding after the preview line: characters without a visible sign.
_FILLER = re.compile("(?:[\xad\u034f\u200b-\u200d\u2060\ufeff][ \xa0\u2007]*){4,}")
_LINKS = re.compile(r"(?:https?|ftp|webcal|mailto|tel):", re.IGNORECASE)
_SCHEME = re.compile(r"\Ahttps?://(?:www\.(?!.*\bwww\.))?")
_HARMFUL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def html_to_text(html: str) -> str:
    """The words of a page, a line for each block, a link's target after its words if the two differ.

    Images are replaced by their alternative text. Hidden content is left out, unless there is no other.
    """
    text, is_whole = _text(html, hiding=True)
    return text if text or is_whole else _text(html, hiding=False)[0]


def _text(html: str, *, hiding: bool) -> tuple[str, bool]:
    """The text, and whether it is complete, without hidden content left out."""
    out: list[str] = []
    position = 0
    link: tuple[str, int] | None = None
    unclosed: set[str] = set()
    is_whole = True
    preformatted = False
    # If a title has no end tag, browsers treat the whole page as the title; we show the words instead.
    has_title_end = "</title" in html.lower()
    while (tag := NEXT_TAG.search(html, position)) is not None:
        if tag.start() > position:
            out.append(_words(html[position : tag.start()], lines=preformatted))
        name = (tag.group(1) or "").lower()
        start = tag.end()
        position = tag_end(html, tag)
        attributes = html[start : min(position, start + 4_000)]
        opening = html[start - len(name) - 1] != "/"
        preformatted = opening if name in _PREFORMATTED else preformatted
        if name in HIDDEN and opening and (name != "title" or has_title_end):
            position = after_hidden(html, name, position)
        elif hiding and opening and name and len(attributes) > 1 and _is_unseen(name, attributes, unclosed):
            shown_from = _after_element(html, name, position)
            if shown_from is None:
                unclosed.add(name)
            else:
                position, is_whole = shown_from, False
        elif name == "a":
            if link is not None:
                out.append(_target(link[0], "".join(out[link[1] :])))
            found = _HREF.search(attributes) if opening else None
            link = (unescape_bounded(next(filter(None, found.groups()), "")), len(out)) if found else None
        elif name == "img":
            found = _ALT.search(attributes)
            out.append(_words(f" {next(filter(None, found.groups()), '')} ") if found else "")
        elif name in _LINES:
            out.append("\n- " if name == "li" and opening else "\n\n" if name in _PARAGRAPHS else "\n")
        elif name in {"td", "th"}:
            out.append(" ")
    out.append(_words(html[position:]))
    if link is not None:
        out.append(_target(link[0], "".join(out[link[1] :])))
    return clean_text(_FILLER.sub(" ", "".join(out))), is_whole


def _is_unseen(name: str, attributes: str, unclosed: set[str]) -> bool:
    """Whether an element with an end tag is hidden. A missing end tag is searched for only once per name, and for few
    names."""
    if name in VOID or name in unclosed or len(unclosed) > MAX_UNCLOSED:
        return False
    if _UNSEEN.search(attributes) is not None:
        return True
    return "hidden" in attributes.lower() and _UNSEEN_ATTRIBUTE.search(_VALUES.sub("", attributes)) is not None


def _after_element(html: str, name: str, position: int) -> int | None:
    """The position after the end of the element that was opened before `position`; None if it has no end."""
    depth = 1
    for tag in re.compile(rf"<(/?){name}(?=[\s>/])[^<>]*>", re.IGNORECASE).finditer(html, position):
        depth += -1 if tag.group(1) else 1
        if depth == 0:
            return tag.end()
    return None


def clean_text(text: str) -> str:
    """Clean plain text for a page: keep lines, remove trailing spaces, runs of blank lines and invisible characters."""
    text = _HARMFUL.sub("", text[: 2 * MAX_LENGTH].replace("\r\n", "\n").replace("\r", "\n").replace("\0", ""))
    lines = [line.rstrip() for line in re.split("[\n\u2028\u2029]", text)]
    kept = [line for index, line in enumerate(lines) if line or (index and lines[index - 1])]
    return "\n".join(kept).strip("\n")[:MAX_LENGTH]


def _words(between: str, *, lines: bool = False) -> str:
    """The text between two tags; line breaks become blanks unless `lines`."""
    text = unescape_bounded(between)
    return text if lines else _SPACES.sub(" ", text.replace("\n", " "))


def unescape_bounded(text: str) -> str:
    """Replace character references, however long their numbers are."""
    return unescape(_ENDLESS.sub("\ufffd", text))


def tag_end(html: str, tag: re.Match[str]) -> int:
    """The position after the tag, comment or declaration. Without an end, it includes the rest of the page, as in a
    browser."""
    if tag.group() == "<!--":
        return _comment_end(html, tag.end())
    if tag.group(1) is None:
        return _after(html, ">", tag.end())
    position = tag.end()
    if html.startswith(">", position):
        return position + 1
    while (mark := _TAG_END.search(html, position)) is not None:
        if mark.group() == ">":
            return mark.end()
        position = _after(html, mark.group()[-1], mark.end())
    return len(html)


def _comment_end(html: str, position: int) -> int:
    """`<!-->` and `<!--->` are complete comments, and `--!>` ends a comment."""
    if html.startswith((">", "->"), position):
        return html.index(">", position) + 1
    found = _COMMENT_END.search(html, position)
    return found.end() if found else len(html)


def after_hidden(html: str, name: str, position: int) -> int:
    """The position of the end tag of a hidden element; the end of the page if it has none."""
    return _after(html, f"</{name}", position)


def _after(html: str, what: str, position: int) -> int:
    if what.startswith("</"):
        found = re.compile(re.escape(what), re.IGNORECASE).search(html, position)
        return found.start() if found else len(html)
    index = html.find(what, position)
    return len(html) if index < 0 else index + len(what)


def _target(href: str, words: str) -> str:
    """The text after the words of a link: its target in brackets, or without them if the link has no words."""
    href = "".join(href.split())
    bare = href[len("mailto:") :] if href.lower().startswith("mailto:") else href
    seen = " ".join(words.split())
    if not _LINKS.match(href) or seen in (href, bare) or _same_target(seen, href):
        return ""
    return f" ({bare[:2_000]})" if seen else f" {bare[:2_000]} "


def _same_target(words: str, href: str) -> bool:
    return _SCHEME.sub("", words.lower()).rstrip("/") == _SCHEME.sub("", href.lower()).rstrip("/")
