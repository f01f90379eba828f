"""ZIP files written field by field, so that each field can lie."""

import zlib
from bz2 import compress as bzip2
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from struct import pack
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, ZipFile

METHODS = {"stored": ZIP_STORED, "deflate": ZIP_DEFLATED, "bz2": ZIP_BZIP2, "lzma": ZIP_LZMA}
MESSAGE = b"From: ben@mail.example\r\nSubject: Offer\r\nMessage-ID: <offer@mail.example>\r\n\r\n"


@dataclass(frozen=True, kw_only=True)
class Member:
    """A file of a ZIP. `packed_size` is the true one unless it is given; with `at` the member has no bytes of its own,
    and names those at that place."""

    name: str = "a.eml"
    packed: bytes = MESSAGE
    method: int = ZIP_STORED
    crc: int = 0
    size: int = 0
    packed_size: int | None = None
    flags: int = 0
    at: int | None = None
    extra: bytes = b""


def member(content: bytes = MESSAGE, *, name: str = "a.eml", method: str = "stored") -> Member:
    """A member whose fields are all true."""
    packers: dict[str, Callable[[bytes], bytes]] = {"stored": bytes, "deflate": _deflate, "bz2": bzip2, "lzma": _lzma}
    packed = packers[method](content)
    return Member(name=name, packed=packed, method=METHODS[method], crc=zlib.crc32(content), size=len(content))


def bomb(method: str, *, name: str = "a.eml", size: int) -> Member:
    """A message of so many bytes that packs well."""
    return member(MESSAGE.ljust(size, b"x"), name=name, method=method)


def archive(members: Sequence[Member], *, zip64: bool = False, comment: bytes = b"", **end: int) -> bytes:
    """The bytes of a ZIP. `end` replaces fields of its last record (count, size, offset); with `zip64` the true values
    stand in ZIP64 records in front of it."""
    body, directory = bytearray(), bytearray()
    for one in members:
        name, at = one.name.encode(), len(body) if one.at is None else one.at
        packed_size = len(one.packed) if one.packed_size is None else one.packed_size
        fields = pack("<HHHHHLLL", 20, one.flags, one.method, 0, 0x21, one.crc, packed_size, one.size)
        if one.at is None:
            body += b"PK\x03\x04" + fields + pack("<HH", len(name), 0) + name + one.packed
        directory += b"PK\x01\x02" + pack("<H", 20) + fields + pack("<HH", len(name), len(one.extra))
        directory += pack("<HHHLL", 0, 0, 0, 0, at) + name + one.extra
    true = {"count": len(members), "size": len(directory), "offset": len(body)}
    given: Mapping[str, int] = true | end
    records = b""
    if zip64:
        records = b"PK\x06\x06" + pack("<QHHLL", 44, 45, 45, 0, 0)
        records += pack("<QQQQ", true["count"], true["count"], true["size"], true["offset"])
        records += b"PK\x06\x07" + pack("<LQL", 0, len(body) + len(directory), 1)
    count = min(given["count"], 0xFFFF)
    last = b"PK\x05\x06" + pack("<HHHHLLH", 0, 0, count, count, given["size"], given["offset"], len(comment))
    return bytes(body + directory) + records + last + comment


def _deflate(content: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


def _lzma(content: bytes) -> bytes:
    """The stream as Python's own writer has it, with its head of a ZIP (APPNOTE 5.8.8)."""
    written = BytesIO()
    with ZipFile(written, "w", ZIP_LZMA) as packed:
        packed.writestr("a", content)
        [entry] = packed.infolist()
    start = len(b"a") + 30
    return written.getvalue()[start : start + entry.compress_size]
