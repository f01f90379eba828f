"""GET requests whose headers are made to take long, or break the rules of HTTP."""

from random import Random

from tests.seeds import Kind, pick, some

_NAMES = (
    *(b"Cookie", b"Accept-Language", b"Accept-Encoding", b"Accept", b"Range", b"If-None-Match", b"If-Modified-Since"),
    *(b"Forwarded", b"X-Forwarded-For", b"X-Forwarded-Host", b"Authorization", b"Origin", b"Referer", b"User-Agent"),
    *(
        b"Content-Type",
        b"Last-Event-ID",
        b"Sec-Fetch-Site",
        b"Traceparent",
        b"Tracestate",
        b"Baggage",
        b"Expect",
        b"TE",
    ),
    *(b"Transfer-Encoding", b"Content-Length", b"Host", b"Connection", b"Upgrade", b"Idempotency-Key", b"If-Match"),
)
_VALUES = (
    *(
        b"a",
        b"=",
        b";",
        b",",
        b'"',
        b"\\",
        b"q=",
        b"0.",
        b"*",
        b"-",
        b"9" * 300,
        b"en-",
        b"bytes=0-,",
        b"W/",
        b'""',
        b" ",
    ),
    *(
        b"a=b; ",
        b"snoozer_session=",
        b"Bearer ",
        b"Basic ",
        b"%00",
        b"%ff",
        b"\xff",
        b"\xe2\x80\xae",
        b"\t",
        b"gzip;q=1e9,",
    ),
    *(
        b"00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-01",
        b"x=1,",
        b"for=",
        b"127.0.0.1, ",
        b"[::1]",
        b"http://",
        b"=?utf-8?q?",
    ),
)
_TARGETS = (
    *(
        b"/",
        b"/sign-in",
        b"/mailbox",
        b"/?q=%s",
        b"/api/v1/snoozes",
        b"/live?seen=%s",
        b"/%s",
        b"/sign-in/%s",
        b"/add?phrase=%s",
    ),
    *(
        b"/static/%s",
        b"//%s",
        b"/r/%s/tomorrow",
        b"/%%00%s",
        b"/mailbox?folder=%s",
        b"/?after=%s",
        b"/healthz",
        b"/when/%s",
    ),
)


def a_request(seed: int) -> bytes:
    """A whole request."""
    return pick(_KINDS, seed)


def _fields(dice: Random) -> bytes:
    count = dice.choice((1, 5, 60, 99, 1_000))
    lines = []
    for _ in range(count):
        size = dice.choice((1, 40, 7_000)) if count < 100 else 20
        name = dice.choice(_NAMES[:-7] if dice.random() < 0.9 else _NAMES)
        lines.append(b"%s: %s\r\n" % (name, b"".join(dice.choices(_VALUES, k=size))[:size]))
    return _get(dice, b"".join(lines))


def _one_field(dice: Random) -> bytes:
    return _get(
        dice, b"%s: %s\r\n" % (dice.choice(_NAMES[:-7]), some(dice, _VALUES, size=dice.choice((1_000, 8_000, 60_000))))
    )


def _bad_bytes(dice: Random) -> bytes:
    request = bytearray(_fields(dice))
    for _ in range(dice.randint(1, 20)):
        request[dice.randrange(len(request))] = dice.getrandbits(8)
    return bytes(request)


def _get(dice: Random, fields: bytes) -> bytes:
    target = dice.choice(_TARGETS)
    if b"%s" in target:
        words = b"".join(
            dice.choices(
                (b"%ff", b"%00", b"a", b"1", b":", b"%e2%80%ae", b"..%2f", b"due:", b"-", b"+"),
                k=dice.choice((1, 30, 900)),
            )
        )
        target %= words
    return b"GET %s HTTP/1.1\r\nHost: snoozer.example\r\n%s\r\n" % (target.replace(b"%%", b"%"), fields)


_KINDS: list[Kind] = [_fields, _one_field, _bad_bytes]
