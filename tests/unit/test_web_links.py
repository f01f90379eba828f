"""Web addresses in a text of a stranger's: nothing of it is lost, and no link leads elsewhere than it shows."""

import time
from urllib.parse import urlsplit

import idna
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from snoozer.web.text.web_links import MAX_LINKS, Piece, web_links
from tests.unit.web_addresses import LINKED, NOT_LINKED


def links(text: str) -> list[Piece]:
    return [piece for piece in web_links(text) if piece.url is not None]


@pytest.mark.parametrize(("text", "url"), LINKED)
def test_an_address_is_a_link_to_what_it_shows(text: str, url: str) -> None:
    assert links(text) == [Piece(url, url)]


@pytest.mark.parametrize("text", NOT_LINKED)
def test_what_could_be_taken_for_another_address_is_text(text: str) -> None:
    assert links(text) == []


def test_an_international_host_shows_its_ascii_form() -> None:
    assert links("https://müller.example:81/ä.") == [
        Piece("https://müller.example:81/ä", "https://xn--mller-kva.example:81/ä", "xn--mller-kva.example")
    ]
    # A Cyrillic а.
    assert links("https://\u0430pple.example")[0].host == "xn--pple-43d.example"


PARTS = st.sampled_from(
    [
        *("https://", "http://", "bank.example", "müller.example", "@", ":", "/", "\\", "?", "#", ".", "(", ")", "%2e"),
        *('"', "<", ">", "'", " ", "\n", "\u202e", "\u200b", "א", "ß", "0x7f", "1", "xn--", "[::1]", "javascript:"),
    ]
)


@given(text=st.lists(PARTS | st.text(max_size=3), max_size=20).map("".join))
@example(text="https://bank.example" + "\u0338/")
def test_nothing_is_lost_and_every_target_is_the_one_shown(text: str) -> None:
    pieces = list(web_links(text))
    assert "".join(piece.text for piece in pieces) == text
    for piece in pieces:
        if piece.url is None:
            continue
        shown, target = urlsplit(piece.text), urlsplit(piece.url)
        assert target.scheme in {"http", "https"}
        assert "@" not in target.netloc
        assert target.netloc.isascii()
        assert (shown.scheme, shown[2:]) == (target.scheme, target[2:])
        if piece.host is None:
            assert piece.url == piece.text
        else:
            assert (target.hostname, idna.decode(piece.host)) == (piece.host, shown.hostname)
        assert piece.text.isprintable()
        assert not set(' <>"\\') & set(piece.url)


@pytest.mark.parametrize("piece", ["http://", "http://a.example/)", "http://a ", ")", "https://ä.example/", "h", "."])
def test_a_long_text_takes_no_second(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    started = time.process_time()
    assert len(links(text)) <= MAX_LINKS
    assert len(links(f"http://a.example/{text}")) <= MAX_LINKS
    assert time.process_time() - started < 1
