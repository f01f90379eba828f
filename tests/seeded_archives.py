"""Files to import: mostly ZIPs, and what other programs make of a mailbox."""

import gzip
import json
import tarfile
from dataclasses import replace
from io import BytesIO
from random import Random

from tests.hostile_archives import MESSAGE, METHODS, Member, archive, bomb, member
from tests.seeded_mails import a_mail
from tests.seeds import MIB, Kind, pick, some


def an_archive(seed: int) -> bytes:
    """A file to import."""
    return pick(_KINDS, seed)


def _bomb(dice: Random) -> bytes:
    method = dice.choice(tuple(METHODS))
    size = dice.randint(1, {"deflate": 160, "stored": 20}.get(method, 24)) * MIB
    place = dice.choice(("a.eml", "places.json"))
    others = [member()] if place == "places.json" else []
    return archive([*others, bomb(method, name=place, size=size)])


def _many_bombs(dice: Random) -> bytes:
    """Each is allowed, all together are not."""
    one = bomb("deflate", size=dice.randint(1, 24) * MIB)
    return archive([replace(one, name=f"{number}.eml") for number in range(dice.randint(2, 900))])


def _many_members(dice: Random) -> bytes:
    names = ("{}.eml", "{}/", "x/{}.txt", "../{}.eml", "{}" + "n" * 200 + ".eml")
    # Archives of fewer than a thousand messages are imported.
    count = dice.choice((1, 40, 200, 2_500, 9_000))
    return archive([member(name=dice.choice(names).format(number), method="deflate") for number in range(count)])


def _lying_fields(dice: Random) -> bytes:
    def lie(one: Member) -> Member:
        number = dice.choice((0, 1, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, dice.getrandbits(32)))
        field = dice.choice(("crc", "size", "packed_size", "at", "method", "flags", "extra", "packed"))
        value: object = number & 0xFFFF if field in {"method", "flags"} else number
        if field in {"extra", "packed"}:
            value = dice.randbytes(dice.randint(0, 4_000))
        return replace(one, **{field: value})  # type: ignore[arg-type]

    members = [member(name=f"{n}.eml", method=dice.choice(("stored", "deflate"))) for n in range(dice.randint(1, 50))]
    end = {name: dice.getrandbits(32) for name in ("size", "offset") if dice.random() < 0.2}
    comment = dice.randbytes(dice.choice((0, 0, 9, 60_000)))
    lying = [lie(one) if dice.random() < 0.5 else one for one in members]
    return archive(lying, zip64=dice.random() < 0.2, comment=comment, **end)


def _nested(dice: Random) -> bytes:
    content = archive([bomb("deflate", size=dice.randint(1, 40) * MIB)])
    for depth in range(dice.randint(1, 60)):
        content = archive([member(MESSAGE + content, name=dice.choice((f"{depth}.eml", "a.zip")), method="deflate")])
    return archive([member(), member(content, name="b.eml", method="stored")])


def _damaged(dice: Random) -> bytes:
    content = bytearray(archive([member(a_mail(dice.getrandbits(20)), method="deflate"), member()]))
    for _ in range(dice.randint(1, 30)):
        content[dice.randrange(len(content))] = dice.getrandbits(8)
    return bytes(content[: dice.choice((len(content), dice.randrange(4, len(content))))])


def _hostile_messages(dice: Random) -> bytes:
    """A good ZIP of bad messages."""
    mails = [a_mail(dice.getrandbits(24))[: 256 * 1024] for _ in range(dice.randint(1, 20))]
    records = [
        {"file": f"{n}.eml", "message_id": "x" * 10_000, "arrived_at": "9999-12-31T23:59:59-23:59"} for n in range(20)
    ]
    places = dice.choice(
        (b"[" * 100_000, json.dumps(records).encode(), b'{"a":' * 50_000, b"[" + b"9" * 100_000 + b"]")
    )
    members = [member(each, name=f"{number}.eml", method="deflate") for number, each in enumerate(mails)]
    return archive([*members, member(places, name="places.json", method="deflate")])


def _packed_otherwise(dice: Random) -> bytes:
    """A mailbox in the formats of other programs."""
    mbox = b"From a@b Thu Jan  1 00:00:00 1970\n" + some(dice, (MESSAGE, b"From \n", b"\0" * 99), size=MIB)
    if dice.random() < 0.3:
        return mbox
    if dice.random() < 0.5:
        return gzip.compress(mbox.ljust(dice.randint(1, 60) * MIB, b"\0"))
    written = BytesIO()
    with tarfile.open(fileobj=written, mode=dice.choice(("w", "w:gz", "w:xz"))) as tar:
        for number in range(dice.randint(1, 200)):
            entry = tarfile.TarInfo(f"{'../' * (number % 9)}{number}.eml")
            entry.size = len(MESSAGE)
            tar.addfile(entry, BytesIO(MESSAGE))
    return written.getvalue()


def _records(dice: Random) -> bytes:
    """The other form of an export: a record on each line, here with repetitions that are hard to count."""
    start = dice.choice(("2020-02-29", "2026-02-28", "2024-01-31", "2035-12-31", "1900-01-01", "9999-12-31"))
    recurrence = {
        "unit": dice.choice(("day", "week", "month", "year", "second")),
        "interval": dice.choice((1, 1, 2, 999, 10**9, -1, 10**400)),
        "start": start,
        "at": dice.choice(("02:30:00", "00:00:00", "25:00")),
        "weekdays": dice.choice(([], [0], [6], list(range(7)), [9] * 7)),
        "day": dice.choice((None, 31, -1, 0)),
        "nth": dice.choice((None, None, 5, -1, 99)),
        "month": dice.choice((None, None, 2, 13)),
        "until": dice.choice((None, "9999-12-31")),
        "times": dice.choice((None, None, 5_000, 10**9)),
        "weekend_rule": dice.choice(("none", "next", "previous", "skip")),
        "rest": dice.choice(([5, 6], [], list(range(7)))),
        "week_start": dice.choice((0, 6, 9)),
    }
    record: dict[str, object] = {
        "type": "snooze",
        "id": 1,
        "state": dice.choice(("waiting", "waiting", "sent", "nothing")),
        "message_id": "<a@mail.example>",
        "promised": "2026-01-01T09:00:00+00:00",
        "created_at": "2020-01-01T00:00:00+00:00",
        "zone": dice.choice(("Europe/Berlin", "Pacific/Apia", "../../etc/passwd")),
        "recurrence": dice.choice((recurrence, recurrence, "x" * 60_000, {"a": {"b": [[]]}})),
        "note": dice.choice(("\0" * 99, "\ud800", "x" * 40_000, None)),
    }
    line = json.dumps(record).encode() + b",\n"
    head = b'{"type":"export","format":"snoozer-export","version":1},\n'
    return head + line * min(dice.choice((1, 100, 2_000, 19_000)), 8 * MIB // len(line))


def _table(dice: Random) -> bytes:
    head = b"state,promised,message_id,created_at," + b"x," * dice.choice((0, 9, 9_000)) + b"recurrence\n"
    return head + some(
        dice, (b'"', b"'", b",", b"\n", b"\r", b"\0", b'""', b"a" * 60_000, b"waiting,", b"=1+1,"), size=2 * MIB
    )


_KINDS: list[Kind] = [
    *(_bomb, _many_bombs, _many_members, _lying_fields, _nested, _damaged),
    *(_hostile_messages, _packed_otherwise, _records, _table),
]  # fmt: skip
