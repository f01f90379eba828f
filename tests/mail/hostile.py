"""Texts that strangers might choose to break a header."""

from hypothesis import strategies as st

HOSTILE = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            "\r\n\0\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\u202e\u2066\u200b\u200c\u200d\ufeff\ud800\u0301=?<>@,"
        ),
    ),
    max_size=300,
)


HOSTILE_SUBJECT = "=?utf-8?q?x=0D=0AContent-Type:_text/html=0D=0A=0D=0A<h1>evil</h1>?="
