"""Nobody but the page itself is answered, and nothing outside the folder is served."""

import json

import pytest

from dred.studio.guard import MOST_BYTES
from tests.studio.conftest import Page


def test_the_page_itself_is_answered_with_headers_that_keep_it_to_itself(page):
    told = page.client.get(f"/{page.token}/")
    assert told.status_code == 200 and "<title>" in told.text
    assert "default-src 'none'" in told.headers["content-security-policy"]
    assert told.headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in told.headers
    assert page.get("folder").json()["home"] == "here"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8123", "127.0.0.1:9", "[::1]:8123"])
def test_another_name_for_this_machine_is_refused(page, host):
    told = page.client.get(f"/{page.token}/api/folder", headers={"host": host})
    assert told.status_code == 421 and "few.npz" not in told.text


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8123"])
def test_pages_from_elsewhere_are_refused(page, origin):
    body = {"set": "here/x.npz", "levels": ["S.G"]}
    path = f"/{page.token}/api/save"
    told = page.client.post(path, json=body, headers={"origin": origin})
    assert told.status_code == 403 and not (page.folder / "x.npz").exists()
    told = page.client.get(f"/{page.token}/api/folder", headers={"sec-fetch-site": "cross-site"})
    assert told.status_code == 403


@pytest.mark.parametrize("path", ["/", "/api/folder", "/wrong/api/folder", "/index.html"])
def test_nothing_is_answered_without_the_token(page, path):
    told = page.client.get(path)
    assert told.status_code == 403 and "token" in told.text


def test_every_server_has_a_token_of_its_own(folder):
    tokens = {Page(folder).token for _ in range(3)}
    assert len(tokens) == 3 and min(map(len, tokens)) >= 32


@pytest.mark.parametrize(
    "name",
    [
        "here/../secret.npz",
        "here/sub/../../secret.npz",
        "here//../secret.npz",
        "../secret.npz",
        "/etc/passwd",
        "here/..\\secret.npz",
        "here/link.npz",
        "here/linked/secret.npz",
        "here/\0",
        "nowhere/few.npz",
        f"here/{'x' * 5000}",
    ],
)
def test_no_name_leads_out_of_the_folder(page, folder, name):
    secret = folder.parent / "secret.npz"
    secret.write_bytes((folder / "few.npz").read_bytes())
    (folder / "sub").mkdir()
    (folder / "link.npz").symlink_to(secret)
    (folder / "linked").symlink_to(folder.parent)
    for told in (page.get("level", set=name, level=0), page.post("gallery", set=name)):
        assert told.status_code == 400 and "error" in told.json()
    told = page.post("save", set=name, levels=["S.G"])
    assert told.status_code == 400
    assert secret.read_bytes() == (folder / "few.npz").read_bytes()
    assert "secret" not in page.get("folder").text and "link" not in page.get("folder").text


@pytest.mark.parametrize("path", ["../places.py", "%2e%2e/places.py", "..%2fplaces.py"])
def test_the_page_s_own_folder_is_not_left_either(page, path):
    told = page.client.get(f"/{page.token}/{path}")
    assert told.status_code in (403, 404) and "Places" not in told.text


def test_large_requests_are_refused_whatever_they_say_of_their_length(page):
    path = f"/{page.token}/api/open?name=x.txt"
    assert page.client.post(path, content=b"x" * (MOST_BYTES + 1)).status_code == 413
    pieces = (b"x" * 1_000_000 for _ in range(5))
    assert page.client.post(path, content=pieces).status_code == 413
    assert page.client.post(path, content=b"", headers={"content-length": "-1"}).status_code == 413


@pytest.mark.parametrize(
    ("drawing", "words"),
    [
        ("", "empty"),
        ("S.\n", "no goal"),
        ("S.G\n..", "equally long"),
        ("S.<b>G", "second start"),
        ("S&.G", "not a tile"),
        ("S" + "." * 30_000 + "G", "at most"),
    ],
)
def test_a_drawing_that_is_no_level_is_refused_in_a_paragraph(page, drawing, words):
    assert words in page.post("inspect", text=drawing).json()["problem"]
    told = page.post("save", set="here/new.npz", levels=[drawing])
    assert told.status_code == 400 and words in told.json()["error"]
    assert "\n\n" not in told.json()["error"] and "Traceback" not in told.text
    assert not (page.folder / "new.npz").exists()


@pytest.mark.parametrize(
    "body", [b"[]", b"{", b'"x"', b"[" * 100_000, b'{"set": 7}', b'{"set": null}', b"\xff"]
)
def test_requests_that_make_no_sense_are_refused_in_a_paragraph(page, body):
    told = page.client.post(f"/{page.token}/api/gallery", content=body)
    assert told.status_code == 400 and told.json()["error"].startswith("The page must")


@pytest.mark.parametrize(
    "asked",
    [
        {"ranges": {"path": 3}},
        {"ranges": {"path": ["a", None]}},
        {"ranges": [1]},
        {"ranges": {"colour": [0, 1]}},
        {"sort": "colour"},
        {"structure": 3},
    ],
)
def test_filters_that_make_no_sense_are_refused(page, asked):
    assert page.post("gallery", set="here/few.npz", **asked).status_code == 400


def test_a_damaged_set_is_refused_in_a_paragraph(page):
    whole = (page.folder / "few.npz").read_bytes()
    (page.folder / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (page.folder / "changed.npz").write_bytes(whole.replace(b"tiles.npy", b"tilez.npy"))
    listed = {one["name"]: one["damaged"] for one in page.get("folder").json()["levels"]}
    assert listed["here/cut.npz"] and not listed["here/few.npz"]
    for name in ("here/cut.npz", "here/changed.npz"):
        told = page.post("gallery", set=name)
        assert told.status_code == 400 and "error" in told.json()


def test_markup_in_names_is_data_and_never_part_of_the_page(tmp_path, page):
    name = "<img src=x onerror=alert(1)>"
    run = page.folder / name
    run.mkdir()
    (run / "run.json").write_text(json.dumps({"config": {}, "seeds": [0], "task": name}))
    told = page.get("runs")
    assert told.headers["content-type"] == "application/json"
    assert told.headers["x-content-type-options"] == "nosniff"
    assert told.json()["runs"][0]["name"] == f"here/{name}"
    assert told.json()["runs"][0]["status"] == "unreadable"
    assert name not in page.client.get(f"/{page.token}/").text


def test_new_files_are_not_put_into_runs_and_generators(page):
    (page.folder / "run").mkdir()
    (page.folder / "run" / "run.json").write_text("{}")
    for name in ("here/run/x.npz", "here/run/given/x.npz", "here/x.txt", "here", "here/"):
        told = page.post("save", set=name, levels=["S.G"])
        assert told.status_code == 400, name


def test_a_report_is_shown_but_may_do_nothing(page):
    (page.folder / "report.html").write_text("<script>alert(1)</script>")
    told = page.get("report", report="here/report.html")
    assert told.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    (page.folder / "other.html").write_text("<script>alert(1)</script>")
    assert page.get("report", report="here/other.html").status_code == 400
