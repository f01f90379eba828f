"""The begin of a message in a list: the sender's own words, and nothing that hides, turns or fills."""

import pytest

from snoozer.mail.snippet import MAX_LENGTH, snippet, snippet_of, snippet_of_part


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi Ann,\n\n  could you look?\n", "Hi Ann, could you look?"),
        ("> quoted\n>> twice\nMy answer", "My answer"),
        ("On Monday, 2 March, Bob <b@x.example> wrote:\n> Hello\n\nYes.", "Yes."),
        ("Am 2. März schrieb Bob:\n> Hallo\nJa.", "Ja."),
        ("-------- Forwarded Message --------\nSubject: Plan\nFrom: Bob\nTo: Ann\n\nThe plan.", "The plan."),
        ("=====\n\nSale https://shop.example/a?b=c now\n***", "Sale now"),
        ("Seen\u034f \u200c\u034f \u200c\u00ad\u200b \ufeff only", "Seen only"),
        ("a\u202eb\u2066c\x00\x1bd\u200fe", "abcde"),
        ("> only what\n> was quoted", "only what was quoted"),
        ("", ""),
        ("---", ""),
    ],
)
def test_a_text_has_a_begin(text: str, expected: str) -> None:
    assert snippet(text) == expected


def test_it_is_short_however_long_the_text_is() -> None:
    assert len(snippet("word " * 100_000)) <= MAX_LENGTH
    assert len(snippet("x" * 100_000)) <= MAX_LENGTH
    assert snippet(">" * 100_000) == ""


def test_a_page_is_read_as_its_words_without_what_it_hides() -> None:
    page = b"<style>p{color:red}</style><div style='display:none'>Preheader</div><p>Your &lt;order&gt;</p>"
    original = b"Content-Type: text/html; charset=utf-8\r\n\r\n" + page
    assert snippet_of(original) == "Your <order>"
    assert snippet_of_part(page, type="text/html", encoding="8bit", charset="utf-8") == "Your <order>"


def test_a_part_that_is_cut_is_read_as_far_as_it_goes() -> None:
    assert snippet_of_part(b"R3LDvMOfZSBhdXMgS8O2b", type="text/plain", encoding="base64", charset="utf-8").startswith(
        "Grüße"
    )
    cut = snippet_of_part(b"Gr=C3=BC=C3=9Fe a=", type="text/plain", encoding="quoted-printable", charset="utf-8")
    assert cut.startswith("Grüße a")
