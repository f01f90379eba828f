"""Broken mail for tests: the corpus of real messages where it lies beside the checkout, else messages generated here.

The real corpus belongs to another project and is not part of this one. The generated one has the same kinds of damage:
wrong charsets, broken structure, hostile headers, missing parts.
"""

from base64 import b64encode
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "mail-corpus" / "messages"

_HEAD = b"From: Ann Berg <ann@a.example>\r\nTo: bob@b.example\r\nDate: Fri, 6 Mar 2026 08:00:00 +0100\r\n"
_MIXED = b'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n'


def is_real() -> bool:
    """Whether the corpus of real messages is there."""
    return FOLDER.is_dir()


def messages() -> dict[str, bytes]:
    """Returns the original bytes of every message by its name, in the order of the names."""
    if is_real():
        return {path.stem: path.read_bytes() for path in sorted(FOLDER.glob("*.eml"))}
    return dict(sorted((generated_headers() | generated_charsets() | generated_structures()).items()))


def generated_headers() -> dict[str, bytes]:
    """Messages whose header is the difficulty, with a plain body."""
    fields = {
        "header_empty_values": b"Subject:\r\nReferences:\r\nIn-Reply-To:\r\nMessage-ID:\r\n",
        "header_no_subject": b"Message-ID: <no-subject@a.example>\r\n",
        "header_utf8_raw": "Subject: Grüße aus Köln\r\n".encode(),
        "header_latin1_raw": "Subject: Grüße aus Köln\r\n".encode("latin-1"),
        "header_encoded_q": b"Subject: =?iso-8859-1?q?Gr=FC=DFe?= =?iso-8859-1?q?_aus_K=F6ln?=\r\n",
        "header_encoded_b": b"Subject: =?utf-8?b?" + b64encode("漢字".encode()) + b"?=\r\n",
        "header_encoded_split_character": b"Subject: =?utf-8?b?5ryi5Q==?= =?utf-8?b?rZc=?=\r\n",
        "header_encoded_unknown_charset": b"Subject: =?x-unknown?q?plain_words?=\r\n",
        "header_encoded_broken_base64": b"Subject: =?utf-8?b?!!!!?= tail\r\n",
        "header_encoded_line_break": b"Subject: =?utf-8?q?x=0D=0ABcc:_eve@e.example=0D=0A=0D=0A<h1>y</h1>?=\r\n",
        "header_encoded_word_in_quotes": b'Subject: "=?utf-8?q?quoted?=" tail\r\n',
        "header_folded": b"Subject: one\r\n two\r\n\tthree\r\n",
        "header_folded_blank": b"Subject: one\r\n \r\n two\r\n",
        "header_direction_override": "Subject: invoice \u202efdp.exe\r\n".encode(),
        "header_nul": b"Subject: before\0after\r\n",
        "header_controls": b"Subject: a\x0bb\x0cc\x1bd\x7fe\r\n",
        "header_long": b"Subject: " + b"x" * 20_000 + b"\r\n",
        "header_many": b"".join(b"X-%d: y\r\n" % number for number in range(3_000)),
        "header_without_colon": b"this is no field\r\nSubject: after it\r\n",
        "header_name_with_blank": b"Subject : spaced\r\n",
        "header_two_subjects": b"Subject: first\r\nSubject: second\r\n",
        "header_two_from": b"From: eve@e.example\r\nSubject: two senders\r\n",
        "header_group_to": b"To: undisclosed-recipients:;\r\nSubject: group\r\n",
        "header_references_broken": b"References: <a@b> nonsense <c@d> <\r\nSubject: refs\r\n",
        "header_message_id_broken": b"Message-ID: not an id\r\nSubject: id\r\n",
        "header_markup": b"Subject: <script>alert(1)</script> <p>\r\n",
    }
    made = {name: _HEAD + field + b"\r\nThe body.\r\n" for name, field in fields.items()}
    senders = {
        "from_missing": b"",
        "from_empty": b"From:\r\n",
        "from_quoted_comma": b'From: "Berg, Ann" <ann@a.example>\r\n',
        "from_address_as_name": b'From: "eve@e.example" <ann@a.example>\r\n',
        "from_two_at": b"From: Ann <ann@b@a.example>\r\n",
        "from_no_angle": b"From: ann@a.example (Ann Berg)\r\n",
        "from_unclosed": b'From: "Ann <ann@a.example>\r\n',
        "from_encoded": b"From: =?utf-8?q?J=C3=B6rg?= <joerg@a.example>\r\n",
        "from_idn": "From: Jörg <jörg@bücher.example>\r\n".encode(),
        "from_several": b"From: Ann <ann@a.example>, Bob <bob@b.example>\r\n",
        "from_endless_comment": b"From: " + b"(" * 3_000 + b"ann@a.example\r\n",
    }
    made["header_bad_date"] = b"Date: 30 Feb 2026 25:61 +9999\r\nSubject: date\r\n\r\nThe body.\r\n"
    made["header_date_words"] = b"Date: yesterday\r\nSubject: date\r\n\r\nThe body.\r\n"
    return made | {name: field + b"Subject: sender\r\n\r\nThe body.\r\n" for name, field in senders.items()}


def generated_charsets() -> dict[str, bytes]:
    """Messages whose text is in a charset other than the one they name, or in none that is known."""
    text = "Grüße, ça va? 漢字"
    labels = {
        "iso-8859-1": "Grüße".encode("latin-1"),
        "us-ascii": "Grüße".encode(),
        "utf-8": "Grüße".encode("latin-1"),
        "gb2312": "汉字".encode("gb18030"),
        "shift_jis": "漢字".encode("cp932"),
        "iso-2022-jp": "漢字".encode("iso2022_jp"),
        "ks_c_5601-1987": "한국말".encode("cp949"),
        "utf-16": text.encode("utf-16"),
        "x-mac-roman": "Grüße".encode("mac_roman"),
        "zlib": b"x\x9c\x03\x00\x00\x00\x00\x01",
        "unicode_escape": b"\\u0000\\ud800",
        "": text.encode(),
        '"utf-8': text.encode(),
    }
    return {
        f"charset_{number:02}": _HEAD
        + f"Subject: charset {number}\r\nContent-Type: text/plain; charset={label}\r\n\r\n".encode()
        + body
        + b"\r\n"
        for number, (label, body) in enumerate(labels.items())
    }


def generated_structures() -> dict[str, bytes]:
    """Messages whose MIME structure or transfer encoding is broken."""
    part = b"--b\r\nContent-Type: text/plain\r\n\r\nOne part.\r\n"
    attachment = b"--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; "
    bodies = {
        "multipart_no_end": _MIXED + part,
        "multipart_no_boundary": b"Content-Type: multipart/mixed\r\n\r\n" + part,
        "multipart_other_boundary": b'Content-Type: multipart/mixed; boundary="c"\r\n\r\n' + part,
        "multipart_similar_boundary": _MIXED + part + b"--bb\r\n\r\nno boundary\r\n--b--\r\n",
        "multipart_empty": _MIXED + b"--b--\r\n",
        "multipart_preamble_only": _MIXED + b"Only a preamble.\r\n",
        "multipart_lf_only": (_MIXED + part + b"--b--\r\n").replace(b"\r\n", b"\n"),
        "multipart_deep": b"".join(
            b'Content-Type: multipart/mixed; boundary="d%d"\r\n\r\n--d%d\r\n' % (depth, depth) for depth in range(200)
        ),
        "multipart_many": _MIXED + part * 2_000 + b"--b--\r\n",
        "attachment_2231": _MIXED + attachment + b"filename*0*=utf-8''Gr%C3%BC; filename*1*=%C3%9Fe.pdf\r\n\r\nx\r\n",
        "attachment_path": _MIXED + attachment + b'filename="..\\..\\evil/name.pdf"\r\n\r\nx\r\n--b--\r\n',
        "attachment_encoded_name": _MIXED
        + attachment
        + b'filename="=?utf-8?q?Gr=C3=BC=C3=9Fe.pdf?="\r\n\r\nx\r\n--b--',
        "attachment_message": _MIXED
        + b"--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\nx\r\n--b--\r\n",
        "encoding_base64_broken": b"Content-Transfer-Encoding: base64\r\n\r\n" + b"SGVsbG8*gd29ybGQ\r\n",
        "encoding_qp_broken": b"Content-Transfer-Encoding: quoted-printable\r\n\r\nA=ZZ=\r\nB=3\r\n",
        "encoding_unknown": b"Content-Transfer-Encoding: spam\r\n\r\nText.\r\n",
        "encoding_uu": b"Content-Transfer-Encoding: x-uuencode\r\n\r\nbegin 644 a\r\n#0V%T\r\n`\r\nend\r\n",
        "html_unclosed": b"Content-Type: text/html\r\n\r\n<p>Hello <b>world<!-- never closed <script>alert(1)",
        "html_deep": b"Content-Type: text/html\r\n\r\n" + b"<div>" * 5_000 + b"deep",
        "html_entities": b"Content-Type: text/html\r\n\r\n&lt;p&gt; &#x110000; &#99999999999; &amp;amp;",
        "body_missing": b"",
        "body_bare_returns": b"Subject: returns\r\n\r\none\rtwo\nthree\r\n",
        "body_dots": b"Subject: dots\r\n\r\n.\r\n..\r\n.text\r\n",
        "body_nul": b"Subject: nul\r\n\r\nbefore\0after\r\n",
        "body_long_line": b"Subject: line\r\n\r\n" + b"x" * 200_000 + b"\r\n",
    }
    made = {name: _HEAD + b"Message-ID: <%s@a.example>\r\n" % name.encode() + body for name, body in bodies.items()}
    return made | {
        "message_no_header": b"\r\nOnly a body.\r\n",
        "message_no_colon": b"no header at all\r\nand no body\r\n",
    }
