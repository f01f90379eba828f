"""Texts that strangers might choose to break a header, a mail or a page."""

import os

from hypothesis import strategies as st

FULL = os.environ.get("SNOOZER_STORM") == "1"

BREAKING = "\r\n\0\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\u202e\u2066\u200b\u200c\u200d\ufeff\ud800\u0301=?<>@,"
HOSTILE = st.text(st.one_of(st.characters(), st.sampled_from(BREAKING)), max_size=300)

HOSTILE_SUBJECT = "=?utf-8?q?x=0D=0AContent-Type:_text/html=0D=0A=0D=0A<h1>evil</h1>?="

MARKUP = [" http://evil.example/a", " <a href=//evil.example>x</a>", "'\" onclick=x <svg onload=x>", " {{ 7*7 }} %s"]
