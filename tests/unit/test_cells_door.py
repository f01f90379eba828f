"""The door of cells: where an address belongs, what is stored, and what it says when something is wrong."""

import re
import socket
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from html import unescape
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner

from deploy.cells import front
from deploy.cells.front import Cell, Cells, Directory

KEY = "a-key-of-the-door-of-enough-length"
ADDRESSES = [f"p{number}@example.org" for number in range(300)]


def a_directory(folder: Path, *names: str, **changes: Any) -> Directory:
    cells = {
        name: Cell(base_url=f"https://{name}.example.org", lmtp=f"inet:{name}.internal:8024", **changes.get(name, {}))
        for name in names
    }
    made = Directory(
        file=folder / "directory.sqlite",
        key=KEY.encode(),
        cells=Cells(domains=frozenset({"example.org"}), separator="+", cells=cells),
    )
    made.create()
    return made


def stored(people: Directory) -> int:
    with closing(sqlite3.connect(people.file)) as connection:
        return int(connection.execute("SELECT count(*) FROM placed").fetchone()[0])


@pytest.fixture
def people(tmp_path: Path) -> Directory:
    return a_directory(tmp_path, "a", "b")


def test_a_later_cell_takes_its_share_of_new_people_and_leaves_the_others(tmp_path: Path, people: Directory) -> None:
    before = {address: people.place(address) for address in ADDRESSES}
    assert min(Counter(before.values()).values()) > 100
    more = a_directory(tmp_path, "a", "b", "c")
    assert {address: more.place(address) for address in ADDRESSES} == before
    new = Counter(more.place(f"new-{address}") for address in ADDRESSES)
    assert min(new.values()) > 60
    assert new.keys() == {"a", "b", "c"}


def test_a_cell_without_new_people_keeps_its_own(tmp_path: Path, people: Directory) -> None:
    own = [address for address in ADDRESSES if people.place(address) == "a"]
    closed = a_directory(tmp_path, "a", "b", a={"takes_new": False})
    assert {closed.place(address) for address in own} == {"a"}
    assert {closed.place(f"new-{address}") for address in ADDRESSES} == {"b"}


def test_a_second_door_with_a_directory_of_its_own_agrees(tmp_path: Path, people: Directory) -> None:
    (tmp_path / "second").mkdir()
    second = a_directory(tmp_path / "second", "b", "a")
    assert [second.place(address) for address in ADDRESSES] == [people.find(address) for address in ADDRESSES]


def test_questions_and_pages_store_nothing_and_the_form_stores_no_address(people: Directory) -> None:
    browser = front.create_app(people).test_client()
    for path in ("/", "/?email=ann@example.org", "/healthz"):
        assert browser.get(path).status_code == 200
    assert front.answer(people, b"cells ann@example.org").startswith("OK lmtp:inet:")
    assert stored(people) == 0
    for _ in range(2):
        browser.post("/", data={"email": " Ann@Example.ORG "})
    assert stored(people) == 1
    assert b"example.org" not in people.file.read_bytes()


def test_an_address_of_any_script_is_led_on_and_what_is_none_is_shown_again(people: Directory) -> None:
    browser = front.create_app(people).test_client()
    answer = browser.post("/", data={"email": "jürgen+x@bücher.example"})
    assert answer.status_code == 303
    assert answer.location.endswith("/sign-in?email=j%C3%BCrgen%2Bx%40xn--bcher-kva.example")
    wrong = browser.post("/", data={"email": '"><script>'}, headers={"Accept-Language": "de"})
    assert (wrong.status_code, "<script>" in wrong.text) == (422, False)
    assert "Das ist keine Mailadresse" in unescape(wrong.text)
    assert browser.post("/", data={"email": "a" * 5000}).status_code == 413


def test_the_page_allows_its_form_to_lead_to_the_cells_and_nothing_else(people: Directory) -> None:
    page = front.create_app(people).test_client().get("/")
    policy = page.headers["Content-Security-Policy"]
    assert "form-action 'self' https://a.example.org https://b.example.org;" in policy
    assert policy.startswith("default-src 'none'")
    assert page.headers["Referrer-Policy"] == "no-referrer"


def test_a_directory_that_takes_no_writes_still_leads_people(
    people: Directory, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front, "LOCK_SECONDS", 0.01)
    wanted = people.find("ann@example.org")
    with closing(sqlite3.connect(people.file)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert people.place("ann@example.org") == wanted
    assert "not stored" in caplog.text
    assert "ann@" not in caplog.text


def test_a_directory_that_cannot_be_read_is_a_sentence_and_a_temporary_reply(people: Directory) -> None:
    people.file.write_bytes(b"no database at all, but long enough to be taken for one" * 100)
    browser = front.create_app(people).test_client()
    assert [browser.get("/healthz").status_code, browser.post("/", data={"email": "a@b.example"}).status_code] == [
        503,
        503,
    ]
    assert front.answer(people, b"cells ann@example.org").startswith("TEMP ")


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        (b"cells ann@elsewhere.example", "NOTFOUND "),
        (b"cells example.org", "NOTFOUND "),
        (b"cells", "NOTFOUND "),
        (b"cells \xff\xfe@example.org", "NOTFOUND "),
        (b"cells ", "NOTFOUND "),
    ],
)
def test_postfix_learns_that_an_address_is_not_for_the_cells(people: Directory, question: bytes, reply: str) -> None:
    assert front.answer(people, question) == reply


def test_a_detail_belongs_to_the_cell_of_its_address_unless_it_is_stored(people: Directory) -> None:
    other = {"a": "b", "b": "a"}[people.find("ann@example.org")]
    plain = front.answer(people, b"cells ann@example.org")
    assert front.answer(people, b"cells ann+lists@example.org") == plain
    people.store(["ann+lists@example.org"], cell=other)
    assert front.answer(people, b"cells ann+lists@example.org") == f"OK lmtp:inet:{other}.internal:8024"
    assert front.answer(people, b"cells +@example.org").startswith("OK ")


@contextmanager
def a_socketmap(people: Directory) -> Iterator[int]:
    with front.Socketmap(("127.0.0.1", 0), people) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield int(server.server_address[1])
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("sent", "replies"),
    [
        (b"14:cells ann@else," * 2, 2),
        (b"14:cells ann@else;", 0),
        (b"14:cells ann", 0),
        (b"99999:x,", 0),
        (b"9999:x,", 0),
        (b"-1:x,", 0),
        (b"\xff\xff\xff", 0),
        (b"0:,", 1),
    ],
)
def test_a_connection_that_sends_no_netstring_is_closed(people: Directory, sent: bytes, replies: int) -> None:
    with a_socketmap(people) as port, socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: connection.recv(4096), b""))
    assert received == b"9:NOTFOUND ," * replies


def invoke(tmp_path: Path, *command: str, config: str, given: str = "", key: str = KEY) -> tuple[int, str]:
    (tmp_path / "cells.toml").write_text(config)
    environment = {
        "FRONT_SECRET_KEY": key,
        "FRONT_CELLS": str(tmp_path / "cells.toml"),
        "FRONT_DIRECTORY": str(tmp_path / "directory.sqlite"),
    }
    result = CliRunner().invoke(front.main, command, input=given, env=environment)
    return result.exit_code, result.output


SAMPLE = (Path(front.__file__).parent / "cells.toml").read_text()


@pytest.mark.parametrize(
    ("config", "key", "words"),
    [
        (SAMPLE, "", "FRONT_SECRET_KEY is not set"),
        (SAMPLE, "secret", "FRONT_SECRET_KEY holds a sample value"),
        ("domains = [", KEY, "Invalid"),
        ("", KEY, "domains: Field required"),
        (SAMPLE.replace("https://a", "javascript:a"), KEY, "cells.a.base_url"),
        (SAMPLE.replace("inet:", "smtp:"), KEY, "cells.a.lmtp"),
        (SAMPLE.replace("takes_new", "takes_now"), KEY, "takes_now"),
        (
            re.sub(r"(lmtp = .*)", r"\1\ntakes_new = false", SAMPLE.replace("takes_new = true", "")),
            KEY,
            "no cell takes",
        ),
    ],
)
def test_a_wrong_configuration_is_one_sentence(tmp_path: Path, config: str, key: str, words: str) -> None:
    code, output = invoke(tmp_path, "cell", "ann@example.org", config=config, key=key)
    assert (code, output.count("\n")) == (1, 1), output
    assert words in output


def test_addresses_are_stored_all_or_none(tmp_path: Path) -> None:
    code, output = invoke(tmp_path, "store", "b", config=SAMPLE, given="ann@example.org\nnobody\n")
    assert (code, output) == (1, "Error: Line 2 holds no mail address; nothing was stored.\n")
    assert invoke(tmp_path, "store", "z", config=SAMPLE, given="ann@example.org\n")[0] == 1
    for cell in ("a", "b"):
        assert invoke(tmp_path, "store", cell, config=SAMPLE, given="ann@example.org\n")[0] == 0
        assert invoke(tmp_path, "cell", "Ann@Example.org", config=SAMPLE) == (0, f"{cell}\n")
