"""What a browser reads before it installs the site as an app."""

import json
import re
import struct
from typing import Any

from flask.testing import FlaskClient


def manifest(client: FlaskClient) -> dict[str, Any]:
    answer = client.get("/manifest.webmanifest")
    assert answer.mimetype == "application/manifest+json"
    content: dict[str, Any] = answer.get_json(force=True)
    return content


def shell(client: FlaskClient) -> dict[str, Any]:
    answer = client.get("/sw.js")
    assert answer.mimetype == "text/javascript"
    content: dict[str, Any] = json.loads(answer.text.partition("\n")[0].removeprefix("const SHELL = ").rstrip(";"))
    return content


def test_each_icon_is_there_in_its_size(client: FlaskClient) -> None:
    sizes = {(icon["sizes"], icon["purpose"]) for icon in manifest(client)["icons"]}
    assert {("192x192", "any"), ("512x512", "any"), ("512x512", "maskable"), ("any", "any")} <= sizes
    for icon in manifest(client)["icons"]:
        with client.get(icon["src"]) as answer:
            assert (answer.status_code, answer.mimetype) == (200, icon["type"])
            if answer.mimetype == "image/png":
                assert struct.unpack(">II", answer.data[16:24]) == tuple(map(int, icon["sizes"].split("x")))


def test_every_page_that_the_manifest_names_is_there(ann: FlaskClient) -> None:
    content = manifest(ann)
    for path in (content["start_url"], *(shortcut["url"] for shortcut in content["shortcuts"])):
        assert ann.get(path).status_code == 200, path
    assert ann.post(content["share_target"]["action"]).status_code == 200


def test_the_worker_keeps_static_files_and_one_page_alone(client: FlaskClient) -> None:
    kept = shell(client)
    assert kept["files"]
    assert all(re.fullmatch(r"/static/[\w./-]+\?v=[0-9a-f]{12}", file) for file in kept["files"])
    for file in kept["files"]:
        with client.get(file) as answer:
            assert answer.status_code == 200, file
    assert not [file for file in kept["files"] if "sw.js" in file]


def test_the_page_shown_offline_has_nothing_of_a_person(ann: FlaskClient, client: FlaskClient) -> None:
    """A browser keeps it for as long as it likes."""
    page = ann.get(shell(ann)["offline"]).text
    assert page == client.get("/offline").text
    assert "You are offline" in page
    assert "csrf" not in page
    assert "<form" not in page


def test_the_policy_of_pages_allows_the_worker_and_the_manifest_of_this_site(ann: FlaskClient) -> None:
    policy = ann.get("/mailbox").headers["Content-Security-Policy"]
    assert "worker-src 'self'" in policy
    assert "manifest-src 'self'" in policy
    page = ann.get("/mailbox").text
    assert 'rel="manifest"' in page
    assert 'rel="apple-touch-icon"' in page
    assert page.count('name="theme-color"') == 2
