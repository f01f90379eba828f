"""Messages with parts, as strangers make them."""

WITH_FILE = b"""\
Subject: a plan
From: Ben <ben@example.org>
Message-ID: <plan@example.org>
Date: Fri, 06 Mar 2026 08:00:00 +0100
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="b"

--b
Content-Type: text/plain; charset=utf-8

See the plan.
--b
Content-Type: image/png
Content-Disposition: attachment; filename*=utf-8''na%C3%AFve%20plan.png
Content-Transfer-Encoding: base64

aGVsbG8gd29ybGQ=
--b--
""".replace(b"\n", b"\r\n")

NESTED = b"""\
Subject: a page
From: Ben <ben@example.org>
Message-ID: <page@example.org>
Date: Fri, 06 Mar 2026 08:00:00 +0100
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary="a"

--a
Content-Type: text/plain; charset=iso-8859-1

A page.
--a
Content-Type: multipart/related; boundary="r"

--r
Content-Type: text/html; charset=iso-8859-1
Content-Transfer-Encoding: 8bit

<p>A p\xe4ge.</p><img src="cid:dot@example.org">
--r
Content-Type: image/gif
Content-ID: <dot@example.org>
Content-Transfer-Encoding: base64

R0lGODlhAQABAAAAACwAAAAAAQABAAA=
--r--
--a--
""".replace(b"\n", b"\r\n")
