"""Sanitised HTML: nothing runs, nothing is sent, nothing is loaded, and what a letter is made of stays."""

import base64
from html.parser import HTMLParser

import pytest

from snoozer.mail import html_sanitizer
from snoozer.mail.html_sanitizer import content_ids, sanitize
from snoozer.mail.html_to_text import html_to_text
from tests.mail.html_attacks import ATTACKS

NEW_TAB = {"target": "_blank", "rel": "noopener noreferrer"}
PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="


class Reader(HTMLParser):
    """Every tag with its attributes, as the standard library reads them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.depth = self.deepest = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self.depth += tag not in {"img", "br", "hr", "col", "wbr"}
        self.deepest = max(self.deepest, self.depth)

    def handle_endtag(self, tag: str) -> None:
        self.depth -= 1

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def is_harmless(html: str) -> bool:
    for tag, attributes in Reader(html).tags:
        assert tag in html_sanitizer.TAGS, tag
        for name, value in attributes.items():
            assert not name.startswith("on"), name
            assert name not in {"srcset", "background", "action", "formaction", "ping", "poster", "cite", "id", "name"}
            assert name != "href" or value.strip().lower().startswith(("http:", "https:", "mailto:", "tel:")), value
            assert name != "src" or value.startswith("data:image/"), value
            assert name != "src" or "svg" not in value, value
            if name == "style":
                assert "url" not in value.lower(), value
                assert "\\" not in value, value
                assert "expression" not in value, value
                assert "position" not in value, value
            if name not in {"href", "title", "alt"}:
                assert "evil.example" not in value, (name, value)
        assert tag != "a" or (attributes["target"], attributes["rel"]) == ("_blank", "noopener noreferrer")
    return True


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_of_an_attack_is_left(attack: str) -> None:
    for html in (attack, f"<div><p>before {attack} after</p></div>", f'<p title="{attack}', attack * 3):
        once = sanitize(html)
        assert is_harmless(once)
        assert Reader(sanitize(once)).tags == Reader(once).tags, "it is parsed again as it was parsed"


def test_a_corpus_of_attacks_is_one() -> None:
    assert len(set(ATTACKS)) >= 60


def test_every_page_of_the_corpus_is_harmless(messages: dict[str, bytes]) -> None:
    for name, original in messages.items():
        html = original.decode("latin-1")
        assert is_harmless(sanitize(html)), name


def test_what_a_letter_is_made_of_stays() -> None:
    letter = (
        '<h1 align="center">News</h1><p style="color: rgb(1, 2, 3); font-family: \'Segoe UI\', Arial">Dear <b>Ann</b>,'
        '<br>see <a href="https://shop.example/?a=1&amp;b=2" title="go">this</a>.</p><ul><li>one<li>two</ul>'
        '<table width="600" bgcolor="#ffffff"><tr><td colspan="2">1 &lt; 2</td></tr></table>'
    )
    assert Reader(sanitize(letter)).tags == [
        ("h1", {"align": "center"}),
        ("p", {"style": 'color:rgb(1, 2, 3);font-family:"Segoe UI" , Arial'}),
        *(("b", {}), ("br", {})),
        ("a", {"href": "https://shop.example/?a=1&b=2", "title": "go", **NEW_TAB}),
        *(("ul", {}), ("li", {}), ("li", {})),
        *(("table", {"width": "600", "bgcolor": "#ffffff"}), ("tbody", {}), ("tr", {}), ("td", {"colspan": "2"})),
    ]
    assert html_to_text(sanitize(letter)).split() == html_to_text(letter).split()


def test_a_picture_of_the_message_is_written_into_the_page_and_no_other() -> None:
    html = '<img src="cid:a@b" alt="Logo"><img src="cid:other" alt="Other"><img src="https://evil.example/x" alt="Far">'
    assert content_ids(html) == {"a@b", "other"}
    assert Reader(sanitize(html, pictures={"a@b": PIXEL})).tags == [("img", {"src": PIXEL, "alt": "Logo"})]
    assert sanitize(html, pictures={"a@b": PIXEL}).endswith(">OtherFar")
    assert "src" not in sanitize('<img src="cid:a">', pictures={"a": "https://evil.example/x"})
    assert "src" not in sanitize('<img src="cid:a">', pictures={"a": "data:image/svg+xml;base64,PHN2Zz4="})


def test_a_page_that_is_too_long_is_cut() -> None:
    assert len(sanitize("word " * html_sanitizer.MAX_HTML)) == html_sanitizer.MAX_HTML


def test_a_picture_that_is_too_large_is_left_out() -> None:
    large = base64.b64encode(bytes(html_sanitizer.MAX_DATA_URL)).decode()
    assert "src" in sanitize(f'<img src="data:image/png;base64,{large[:400]}" alt="x">')
    assert sanitize('<img src="cid:x" alt="x">', pictures={"x": f"data:image/png;base64,{large}"}) == "x"


def test_a_picture_that_is_shown_hundreds_of_times_is_copied_a_few_times() -> None:
    """A page of 5 kB became 24 MB, which took more than a second."""
    picture = "data:image/png;base64," + "A" * 300_000
    made = sanitize('<img src="cid:x" alt="x">' * 300, pictures={"x": picture})
    assert len(made) < html_sanitizer.MAX_EMBEDDED + 10_000
    assert made.count("src=") == html_sanitizer.MAX_EMBEDDED // len(picture)
    assert made.endswith("x" * 200)


@pytest.mark.parametrize(
    "piece",
    [
        *("<div>", "<b>", "<b><p>", "<a href='https://x.example/'><b>", "<table><tr><td>", "<p><font color=red>"),
        *("<li>", "</p>", "<!--", "<div><!--</div>-->", '<div title="</div>">', f'<div title={" " * 25}"></div>">'),
        *("<", "&#1;", "<script>", "<svg>", "<a b='", '<a b="', "<a =", "<p style='color:red;", "<x/", "<td><i>"),
    ],
)
def test_elements_are_not_nested_without_a_limit(piece: str) -> None:
    """Ammonia takes quadratic time on them: two minutes for 500 kB of `<div>`."""
    page = Reader(sanitize(piece * (60_000 // len(piece))))
    assert page.deepest <= 2 * html_sanitizer.MAX_DEPTH


def test_the_text_of_a_page_is_the_same_afterwards() -> None:
    html = "<div><p>One<p>Two <b>bold<i>both</b>italic</i><table><td>a<td>b</table></div></section>&amp; <3 &lt;b&gt;"
    assert html_to_text(sanitize(html)).split() == html_to_text(html).split()


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        ("<p>", "<p>x</p>"),
        ("<p>", "<div>x</div><p>"),
        ("<ul><li>", "<li>x</li>"),
        ("<dl><dt>", "<dd>x</dd>"),
        ("<table>", "<tr></tr>x"),
        ("<table>", "<table></table>x"),
        ("<p><caption>", "<dd>x</dd>"),
        ("<p><td>", "x</p><p>"),
        ("<a href='https://x.example/'>", "<a href='https://x.example/'>x<div></a>"),
    ],
)
def test_what_browsers_begin_anew_by_themselves_is_not_multiplied(begin: str, piece: str) -> None:
    page = begin + "".join(f"<font color={number}>" for number in range(150)) + 500 * piece
    shown = sanitize(page)
    assert shown.count("x") >= 500
    assert shown.count("<font") <= 1_500


def test_what_is_left_open_is_closed_as_browsers_do() -> None:
    assert sanitize("<ul><li>a<ul><li>b<li>c</ul><li>d</ul>") == (
        "<ul><li>a<ul><li>b</li><li>c</li></ul></li><li>d</li></ul>"
    )
    assert sanitize("<p>a<b>b<div>c</div>d") == "<p>a<b>b</b></p><b><div>c</div>d</b>"
    assert sanitize("<table><tr><td>a<td>b<tr><td>c</table>") == (
        "<table><tbody><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></tbody></table>"
    )
