"""HTML from anywhere to the text a person reads. The result is never HTML, and one pass is enough for any input.

`html.parser` takes quadratic time on unclosed comments and tags (CVE-2025-6069), so a megabyte could hold a process
for minutes; this reader keeps the HTML standard's rules for where a tag ends and knows no more than text needs.
"""

import re
from html import unescape

MAX_LENGTH = 200_000

_NEXT = re.compile(r"<!--|<[!?]|</?([a-zA-Z][a-zA-Z0-9]*)")
_TAG_END = re.compile(r"""=\s{0,20}["']|>""")
_HREF = re.compile(r"""\bhref\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""", re.IGNORECASE)
_HIDDEN = frozenset({"script", "style", "title", "template", "noscript", "svg", "object", "iframe", "select"})
_PARAGRAPHS = frozenset({"blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "table", "ul"})
_LINES = _PARAGRAPHS | {
    *("address", "article", "aside", "br", "center", "dd", "div", "dl", "dt", "fieldset", "figure", "footer", "form"),
    *("header", "hr", "li", "main", "nav", "section", "tbody", "tfoot", "thead", "tr"),
}
# No character has such a number, and `unescape` raises from 4,301 digits on.
_ENDLESS = re.compile("&#[0-9]{100,};?")
_SPACES = re.compile(r"[ \t\r\f\v\xa0]+")
_HARMFUL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def html_to_text(html: str) -> str:
    """The words of a page, a line for each block, a link's target behind its words where the two differ."""
    out: list[str] = []
    position = 0
    link: tuple[str, int] | None = None
    while (tag := _NEXT.search(html, position)) is not None:
        out.append(_words(html[position : tag.start()]))
        name = (tag.group(1) or "").lower()
        position = _end(html, tag)
        attributes = html[tag.end() : min(position, tag.end() + 4_000)]
        opening = not tag.group().startswith("</")
        if name in _HIDDEN and opening:
            position = _after(html, f"</{name}", position)
        elif name == "a":
            if link is not None:
                out.append(_target(link[0], "".join(out[link[1] :])))
            found = _HREF.search(attributes) if opening else None
            link = (_characters(next(filter(None, found.groups()), "")), len(out)) if found else None
        elif name in _LINES:
            out.append("\n\n" if name in _PARAGRAPHS else "\n")
            out.append("- " if name == "li" and opening else "")
        elif name in {"td", "th"}:
            out.append(" ")
    out.append(_words(html[position:]))
    return clean_text("".join(out))


def clean_text(text: str) -> str:
    """Plain text for a page: lines kept, spaces at their ends and runs of blank lines gone, nothing that hides."""
    text = _HARMFUL.sub("", text[: 2 * MAX_LENGTH].replace("\r\n", "\n").replace("\r", "\n").replace("\0", ""))
    lines = [line.rstrip() for line in re.split("[\n\u2028\u2029]", text)]
    kept = [line for index, line in enumerate(lines) if line or (index and lines[index - 1])]
    return "\n".join(kept).strip("\n")[:MAX_LENGTH]


def _words(between: str) -> str:
    return _SPACES.sub(" ", _characters(between).replace("\n", " "))


def _characters(text: str) -> str:
    return unescape(_ENDLESS.sub("\ufffd", text))


def _end(html: str, tag: re.Match[str]) -> int:
    """Where the tag, comment or declaration is over. One that never ends swallows the rest, as in a browser."""
    if tag.group() == "<!--":
        return _after(html, "-->", tag.end())
    if tag.group(1) is None:
        return _after(html, ">", tag.end())
    position = tag.end()
    while (mark := _TAG_END.search(html, position)) is not None:
        if mark.group() == ">":
            return mark.end()
        position = _after(html, mark.group()[-1], mark.end())
    return len(html)


def _after(html: str, what: str, position: int) -> int:
    if what.startswith("</"):
        found = re.compile(re.escape(what), re.IGNORECASE).search(html, position)
        return found.start() if found else len(html)
    index = html.find(what, position)
    return len(html) if index < 0 else index + len(what)


def _target(href: str, words: str) -> str:
    href = href.strip()
    bare = href.removeprefix("mailto:")
    if not href.lower().startswith(("http://", "https://", "mailto:")) or " ".join(words.split()) in (href, bare):
        return ""
    return f" ({bare[:2_000]})"
