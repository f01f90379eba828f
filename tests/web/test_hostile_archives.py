"""Your data: a ZIP that is made to harm is refused with a sentence, keeps nothing, and costs the web process little."""

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from tests.factories import People
from tests.hostile_archives import MESSAGE, Member, archive, bomb, member
from tests.web.live_site import LiveSite, live_site
from tests.web.live_visits import Visitor

MIB = 1024 * 1024
# bz2 and LZMA took twice as much memory as this. Deflate stops after the largest message, 25 MiB.
UNPACKED = 128 * MIB
MEMORY_KB = 96 * 1024
# As many as a list of 1 MiB has room for.
MANY = 20_000

OTHERWISE = "encrypted or compressed by another method"
DAMAGED = "damaged or of a kind that cannot be read"
TOO_MANY = "more than 1000 messages"

# It takes time to unpack, and no byte comes out.
BLOCKS_OF_NOTHING = Member(method=8, packed=b"\x00\x00\x00\xff\xff" * 50_000, size=99)
ZIP64_SIZE = b"\x01\x00\x08\x00" + b"\xff" * 8

ARCHIVES: dict[str, tuple[bytes, str]] = {
    "bz2": (archive([member(method="bz2")]), OTHERWISE),
    "lzma": (archive([member(method="lzma")]), OTHERWISE),
    "bz2 behind a good one": (archive([member(), member(name="b.eml", method="bz2")]), OTHERWISE),
    "places of bz2": (archive([member(), member(b"[]", name="places.json", method="bz2")]), OTHERWISE),
    "places of lzma": (archive([member(), member(b"[]", name="places.json", method="lzma")]), OTHERWISE),
    "unknown method": (archive([Member(method=93)]), OTHERWISE),
    "encrypted": (archive([Member(flags=0x1)]), OTHERWISE),
    "strongly encrypted": (archive([Member(flags=0x41)]), OTHERWISE),
    "patched": (archive([Member(flags=0x20)]), DAMAGED),
    "one member many times": (archive([member(), *[replace(member(), at=0)] * 9]), DAMAGED),
    "a member inside of another": (archive([member(archive([member()])), replace(member(), at=35)]), DAMAGED),
    "blocks of nothing many times": (archive([BLOCKS_OF_NOTHING, *[replace(BLOCKS_OF_NOTHING, at=0)] * 999]), DAMAGED),
    "a member beyond the end": (archive([member(), Member(at=0xFFFFFFF0)]), DAMAGED),
    "a member of more than there is": (archive([Member(packed_size=0x7FFFFFFF, size=0x7FFFFFFF)]), DAMAGED),
    "a member that says it is smaller": (archive([Member(size=9)]), DAMAGED),
    "a member that says it is larger": (archive([Member(size=len(MESSAGE) + 1, crc=1)]), DAMAGED),
    "a member without a sum": (archive([Member(size=len(MESSAGE), crc=1)]), DAMAGED),
    "a member of 2^64 bytes": (archive([Member(packed_size=0xFFFFFFFF, extra=ZIP64_SIZE)]), DAMAGED),
    "a member at 2^64": (archive([member(), Member(packed=b"", at=0xFFFFFFFF, extra=ZIP64_SIZE)]), DAMAGED),
    "half an extra field": (archive([Member(packed_size=0xFFFFFFFF, extra=b"\x01\x00\x01\x00x")]), DAMAGED),
    "no deflate": (archive([Member(method=8, packed=b"\xff" * 99, size=99)]), DAMAGED),
    "ZIP64": (archive([member()], zip64=True), DAMAGED),
    "ZIP64 behind a small record": (archive([member()] * 3, zip64=True, size=0, count=0), DAMAGED),
    "ZIP64 with a comment": (archive([member()], zip64=True, comment=b"x" * 65_535), DAMAGED),
    "a list that is longer than it says": (archive([member()] * 3, size=10), DAMAGED),
    "a list that begins before the file": (archive([member()], size=100_000), DAMAGED),
    "a list of gigabytes": (archive([member()], size=0xFFFFFFFE), TOO_MANY),
    "many entries": (archive([member(name=f"{number}.eml") for number in range(1_001)]), TOO_MANY),
}  # fmt: skip


@pytest.fixture(scope="module")
def site(migrated: Engine, postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    with live_site(postgres_url, tmp_path_factory.mktemp("archives")) as site:
        yield site


def kept(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM messages")).scalar_one())


def upload(site: LiveSite, session: str, content: bytes) -> tuple[int, str, int]:
    """Returns the status and the page, and the kB of memory that the web process took at its peak."""
    visitor = Visitor(site, session)
    body, cookie = visitor.upload_body("/settings/data", "file", content)
    (status, page), _, kilobytes = site.cost(lambda: visitor.post("/settings/data/import", body, cookie))
    return status, page, kilobytes


@pytest.mark.parametrize("place", ["message", "places"])
@pytest.mark.parametrize("method", ["bz2", "lzma", "deflate"])
def test_a_bomb_of_any_method_costs_the_web_process_little(
    site: LiveSite, engine: Engine, people: People, method: str, place: str
) -> None:
    packed = bomb(method, name="a.eml" if place == "message" else "places.json", size=UNPACKED)
    content = archive([packed] if place == "message" else [member(), packed])
    assert len(content) < UNPACKED / 900
    status, page, kilobytes = upload(site, people.ann().session, content)
    assert kilobytes < MEMORY_KB
    if method == "deflate":
        assert (status, kept(engine)) == (303, int(place == "places"))
    else:
        assert (status, OTHERWISE in page, "Nothing was saved." in page, kept(engine)) == (422, True, True, 0)


def test_a_list_of_files_of_any_length_costs_the_web_process_little(
    site: LiveSite, engine: Engine, people: People
) -> None:
    session = people.ann().session
    others = [Member(name="a", packed=b"", at=0)]
    hidden = archive([member(), *others * 400_000], zip64=True, size=0, count=0, offset=0)
    for content in (hidden, archive([member(), *others * MANY])):
        status, page, kilobytes = upload(site, session, content)
        assert (status, "Nothing was saved." in page, kept(engine)) == (422, True, 0)
        assert kilobytes < MEMORY_KB


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_hostile_archive_is_refused_with_a_sentence_and_keeps_nothing(
    ann: FlaskClient, engine: Engine, name: str
) -> None:
    content, sentence = ARCHIVES[name]
    answer = ann.post("/settings/data/import", data={"file": (BytesIO(content), "a.zip")})
    assert answer.status_code == 422
    assert sentence in answer.text
    assert "Nothing was saved." in answer.text
    assert kept(engine) == 0


@pytest.mark.parametrize("method", ["stored", "deflate"])
def test_an_ordinary_archive_is_taken(ann: FlaskClient, engine: Engine, method: str) -> None:
    others = [member(b"x" * 99, name="read me.txt", method="bz2"), member(b"", name="folder/")]
    content = archive([member(method=method), *others, member(b"[]", name="places.json", method=method)], comment=b"x")
    assert ann.post("/settings/data/import", data={"file": (BytesIO(content), "a.zip")}).status_code == 303
    assert kept(engine) == 1
