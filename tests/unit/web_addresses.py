"""Texts with web addresses: those that are links and to what, and those that are none."""

from snoozer.web.text.web_links import MAX_LENGTH

LONG = f"https://mail.example/{'a' * (MAX_LENGTH - 21)}"

LINKED = [
    ("See https://mail.example/a?b=c&d=%20#e.", "https://mail.example/a?b=c&d=%20#e"),
    ("(https://mail.example/a_(b)), or", "https://mail.example/a_(b)"),
    ("<http://mail.example>", "http://mail.example"),
    ("https://mail.example/?!…", "https://mail.example/"),
    ("HTTPS://Mail.Example:8443/A", "HTTPS://Mail.Example:8443/A"),
    ("'https://mail.example/x'", "https://mail.example/x"),
    ('href="https://mail.example/x"onclick=alert(1)', "https://mail.example/x"),
    ("https://mail.example/?to=https://other.example", "https://mail.example/?to=https://other.example"),
    ("javascript:https://mail.example", "https://mail.example"),
    ("http://localhost:8000/x", "http://localhost:8000/x"),
    ("http://192.0.2.1/x", "http://192.0.2.1/x"),
    ("https://mail.example/ann@mail.example", "https://mail.example/ann@mail.example"),
    ("https://mail.example/日本。次", "https://mail.example/日本"),
    ("https://mail.example/x\u200f", "https://mail.example/x"),
    ("https://mail.example。evil.example", "https://mail.example"),
    (LONG, LONG),
]
NOT_LINKED = [
    "javascript:alert(1)",
    "data:text/html,x ftp://mail.example //mail.example www.mail.example mail.example",
    "https://bank.example@evil.example/",
    "https://bank.example:443@evil.example/",
    "https://bank.example%40evil.example/",
    "https://evil.example\\@bank.example/",
    "https:\\\\evil.example",
    "http\u017f://mail.example",
    "xhttps://mail.example",
    "https://bank.example\u2044evil.example/",
    "https://bank.example\uff0fevil.example/",
    "https://b\u200bank.example/",
    "https://bank.example/\u202emoc.live",
    "https://bank.example/\u2066x",
    "https://אב.גד/הו",
    "https://mail.example/הו",
    "https://mail.example/\u3164x",
    "https://ｂank.example/",
    "https://Ä.example/",
    "http://0x7f.1/ http://2130706433/ http://127.1/ http://127.0.0.01/ http://300.1.1.1/",
    "https://a..b/ https://-a.example/ https://.a/ https:///a https://? https://#",
    "https://mail.example:99999/ https://mail.example:x/ https://http://evil.example",
    f"https://{'a.' * 130}example/",
    f"{LONG}a",
    "https://",
    "https://...)",
    "",
]
