"""A body from the cached pieces is what its template renders, whatever the words."""

import quopri

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import DictLoader, meta

from snoozer.mime.compose import TEMPLATES, render_qp
from snoozer.mime.mime_writer import quoted_printable

BODIES = TEMPLATES.list_templates(filter_func=lambda name: "/body." in name and not name.startswith("_base/"))
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40) | st.sampled_from(
    ["", "{subject}", "{0}", "}}", "%s", "<b>&amp;'\"", "=3D", "x" * 200, "trailing ", "\0subject\0"]
)


def names(template: str) -> list[str]:
    """Every word that the template uses in its own file."""
    assert TEMPLATES.loader is not None
    source, _, _ = TEMPLATES.loader.get_source(TEMPLATES, template)
    return sorted(meta.find_undeclared_variables(TEMPLATES.parse(source)))


def test_every_body_is_covered_here() -> None:
    assert {name.partition("/")[0] for name in BODIES} == {"reminder", "sign_in"}


@pytest.mark.parametrize("template", BODIES)
@given(data=st.data())
def test_the_pieces_are_what_the_template_renders(template: str, data: st.DataObject) -> None:
    words = {name: data.draw(WORDS, label=name) for name in names(template)}
    rendered = TEMPLATES.get_template(template).render(words).rstrip("\n")
    assert render_qp(template, words) == quoted_printable(rendered)


@pytest.mark.parametrize(("kind", "between"), [("txt", "\r\n  "), ("html", "<br>")])
def test_the_lines_of_a_word_stay_lines(kind: str, between: str) -> None:
    words = dict.fromkeys(names(f"reminder/body.{kind}"), "word") | {"note": "first <b>\n\nlast"}
    first = "first &lt;b&gt;" if kind == "html" else "first <b>"
    body = quopri.decodestring(render_qp(f"reminder/body.{kind}", words)).decode()
    assert f"{first}{between}{between}last" in body


def test_braces_of_a_template_are_no_placeholders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TEMPLATES, "loader", DictLoader({"braces/body.txt": "a {word} {} {{ word }}"}))
    assert render_qp("braces/body.txt", {"word": "{word}"}) == b"a {word} {} {word}"
