"""A body from its encoded pieces is what its templates render, whatever the words."""

import html
import quopri
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jinja2 import DictLoader, meta

from snoozer.mail.mime_writer import TEMPLATES, BodyTemplate, place
from tests.mail.hostile import HOSTILE

ROOT = Path(__file__).resolve().parents[2]
MAILS = sorted({name.split("/")[0] for name in TEMPLATES.list_templates() if not name.startswith("_base/")})
# The mails whose words are names; a digest has a list (tests/mail/test_compose_digests.py).
WITH_WORDS = [mail for mail in MAILS if mail != "digest"]
LONG = ["x" * 74, "x" * 75, "x" * 76, "é" * 200]
SIGNS = ["{subject}", "{0}", "}}", "%s", "%b%", "<b>&amp;'\"", "=3D", "\0subject\0", "--=_snoozer", "--=_snoozer--"]
EDGES = ["trailing ", " ", ".", "..", "From here", "a\nb \n\n<c>"]
ANY = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40)
WORDS = ANY | st.sampled_from([*LONG, *SIGNS, *EDGES])


class Safe(str):
    """HTML that a template prints as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def names(mail: str) -> list[str]:
    """Every word that the mail's templates use in their own files."""
    assert TEMPLATES.loader is not None
    sources = [TEMPLATES.loader.get_source(TEMPLATES, f"{mail}/body.{kind}")[0] for kind in ("txt", "html")]
    used = set[str]().union(*(meta.find_undeclared_variables(TEMPLATES.parse(source)) for source in sources))
    return sorted(used - TEMPLATES.globals.keys())


def bodies(body: bytes) -> list[str]:
    """What stands in the two parts, decoded."""
    parts = body.split(b"--=_snoozer")
    assert [parts[0], parts[3]] == [b"", b"--\r\n"]
    encoded = [part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n") for part in parts[1:3]]
    assert max(len(line) for part in encoded for line in part.split(b"\r\n")) <= 76
    return [quopri.decodestring(part).decode().replace("\r\n", "\n") for part in encoded]


def rendered(mail: str, words: dict[str, str]) -> list[str]:
    in_text = {name: word.replace("\n", "\n  ") for name, word in words.items()}
    in_html = {
        name: Safe(html.escape(word).replace("&#x27;", "&#39;").replace("&quot;", "&#34;").replace("\n", "<br>"))
        for name, word in words.items()
    }
    return [
        TEMPLATES.get_template(f"{mail}/body.{kind}").render(shown).rstrip("\n")
        for kind, shown in (("txt", in_text), ("html", in_html))
    ]


def test_every_mail_is_covered_here() -> None:
    of_a_person = ["address_added", "address_code", "confirmation", "deletion", "setup", "sign_in"]
    others = ["answer", "digest", "reminder", "unreadable_folder", "webhook_off"]
    assert sorted(of_a_person + others) == MAILS


@pytest.mark.parametrize("mail", WITH_WORDS)
@given(data=st.data())
def test_the_pieces_are_what_the_templates_render(mail: str, data: st.DataObject) -> None:
    words = {name: data.draw(st.just("") | WORDS, label=name) for name in names(mail)}
    present = {name: word for name, word in words.items() if word}
    body = BodyTemplate(mail, words=list(present), texts=dict.fromkeys(words, "")).fill(present)
    assert bodies(body) == rendered(mail, words)


@pytest.mark.parametrize("mail", WITH_WORDS)
def test_a_word_within_a_text_is_written_where_its_place_is(mail: str) -> None:
    urls = {name: f"https://x.example/?a=1&b={place('token')}/{name}" for name in names(mail)}
    words = {name: url.replace(place("token"), "T") for name, url in urls.items()}
    assert bodies(BodyTemplate(mail, words=(), texts=urls).fill({"token": "T"})) == rendered(mail, words)


@given(word=HOSTILE)
@example(word="\r\n--=_snoozer--\r\n")
@example(word="\r")
@example(word="\n")
def test_no_word_ends_a_part_or_a_line_of_ours(word: str) -> None:
    """Words of strangers are on lines by themselves, where a boundary would count."""
    body = BodyTemplate("sign_in", words=names("sign_in"), texts={}).fill(dict.fromkeys(names("sign_in"), word))
    assert body.isascii()
    assert not re.search(rb"\r(?!\n)|(?<!\r)\n|\0", body)
    assert len(bodies(body)) == 2


def test_braces_and_percent_signs_of_a_template_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "a {word} {} %b %(word)s 100% {{ word }}"
    monkeypatch.setattr(TEMPLATES, "loader", DictLoader({f"signs/body.{kind}": source for kind in ("txt", "html")}))
    body = BodyTemplate("signs", words=["word"], texts={}).fill({"word": "{word} %b"})
    assert bodies(body) == ["a {word} {} %b %(word)s 100% {word} %b"] * 2


def test_mails_have_the_colours_of_the_pages() -> None:
    """In each scheme, a mail has colours of the style sheet alone."""
    assert TEMPLATES.loader is not None
    tokens = (ROOT / "static" / "snoozer.css").read_text().split("@media (prefers-color-scheme: dark)")[:2]
    light, dark = (set(re.findall(r"#[0-9a-f]{6}\b", part.partition("}")[0])) for part in tokens)
    sources = [TEMPLATES.loader.get_source(TEMPLATES, name)[0] for name in TEMPLATES.list_templates()]
    inside = re.compile(r"@media \(prefers-color-scheme: dark\) \{.*?\n\}", re.DOTALL)
    in_dark = "".join(found for source in sources for found in inside.findall(source))
    in_light = "".join(inside.sub("", source) for source in sources)
    assert set(re.findall(r"(?<!&)#[0-9a-fA-F]{3,8}\b", in_light)) <= light
    assert set(re.findall(r"(?<!&)#[0-9a-fA-F]{3,8}\b", in_dark)) <= dark
    assert in_dark
