"""`text/enriched` (RFC 1896) and its forerunner `text/richtext` (RFC 1341) to plain text."""

import re

_HIDDEN = re.compile(r"<param>[^<]*</param>|<comment>[^<]*</comment>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][\w-]{0,60}>")
_BREAKS = re.compile(r"\n+")


def enriched_to_text(text: str) -> str:
    """One line break is a blank, each further one a line break; two opening brackets are one."""
    text = text.replace("\r\n", "\n").replace("<<", "\0")
    text = _BREAKS.sub(lambda run: "\n" * (len(run.group()) - 1) or " ", text)
    return _TAG.sub("", _HIDDEN.sub("", text)).replace("\0", "<")


def richtext_to_text(text: str) -> str:
    """Line breaks are `<nl>` and `<np>`; an opening bracket is `<lt>`."""
    text = re.sub(r"\s*\n", " ", text.replace("\r\n", "\n"))
    for tag, sign in (("nl", "\n"), ("np", "\n\n"), ("paragraph", "\n\n"), ("lt", "\0")):
        text = re.sub(f"<{tag}>", sign, text, flags=re.IGNORECASE)
    return _TAG.sub("", _HIDDEN.sub("", text)).replace("\0", "<")
