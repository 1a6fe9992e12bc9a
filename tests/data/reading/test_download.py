"""Downloads, against a server on this machine that breaks off, refuses and answers with pages."""

import hashlib
import http.server
import threading
from types import SimpleNamespace

import pytest

from medldr.data.reading.download import fetch
from medldr.errors import InputError
from medldr.folders.files import StorageError

CONTENT = bytes(range(256)) * 4000
MD5 = hashlib.md5(CONTENT).hexdigest()
PAGE = b"<!DOCTYPE html><html><title>Virus scan warning</title></html>"


@pytest.fixture
def server():
    """A server whose behaviour a test sets: what to send, how much of it, with which status."""
    state = SimpleNamespace(content=CONTENT, cut=None, statuses=[], ranges=True, requests=[])

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            wanted = self.headers.get("Range")
            state.requests.append(wanted)
            if state.statuses:
                status = state.statuses.pop(0)
                if status != 200:
                    self.send_error(status)
                    return
            start = 0
            if wanted and state.ranges:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                if start >= len(state.content):
                    self.send_error(416)
                    return
            body = state.content[start:]
            self.send_response(206 if wanted and state.ranges else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if state.cut is not None:
                body, state.cut = body[: state.cut], None
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        state.url = f"http://127.0.0.1:{running.server_port}/file.npz?download=1"
        yield state
        running.shutdown()
        thread.join()


def test_a_file_arrives_whole_in_a_new_folder_and_is_fetched_once(server, tmp_path):
    target = tmp_path / "new" / "file.npz"
    assert fetch(server.url, target, md5=MD5) == target
    assert target.read_bytes() == CONTENT
    fetch(server.url, target, md5=MD5)
    assert server.requests == [None]
    assert not target.with_name("file.npz.part").exists()


@pytest.mark.parametrize(
    ("part", "changes", "requests"),
    [
        (b"", {"cut": 300_000}, [None, "bytes=300000-"]),
        (b"", {"statuses": [503]}, [None, None]),
        (CONTENT[:123_456], {}, ["bytes=123456-"]),
        (CONTENT, {}, ["bytes=1024000-"]),
        (b"x" * 1000, {"ranges": False}, ["bytes=1000-"]),
        (b"y" * 1000, {}, ["bytes=1000-", None]),
    ],
    ids=["broken off", "one failure", "killed", "complete", "no ranges", "stale"],
)
def test_a_download_goes_on_where_it_stopped(server, tmp_path, part, changes, requests):
    vars(server).update(changes)
    (tmp_path / "file.npz.part").write_bytes(part)
    fetch(server.url, tmp_path / "file.npz", md5=MD5)
    assert (tmp_path / "file.npz").read_bytes() == CONTENT
    assert server.requests == requests
    stale = part.startswith(b"y")
    assert (tmp_path / "file.npz.rejected").exists() == stale
    assert not stale or (tmp_path / "file.npz.rejected").read_bytes().startswith(part)


def test_two_breaks_end_with_a_message_and_keep_what_came(server, tmp_path):
    server.cut = 1000
    server.statuses = [200, 503]
    target = tmp_path / "file.npz"
    with pytest.raises(InputError, match=r"HTTP status 503.*By hand: save .* as .*file\.npz"):
        fetch(server.url, target, md5=MD5)
    assert (tmp_path / "file.npz.part").stat().st_size == 1000
    assert not target.exists()
    fetch(server.url, target, md5=MD5)
    assert server.requests == [None, "bytes=1000-", "bytes=1000-"]


def test_a_web_page_is_recognised_kept_and_asked_for_only_once(server, tmp_path):
    server.content = PAGE
    target = tmp_path / "file.npz"
    found = hashlib.md5(PAGE).hexdigest()
    with pytest.raises(InputError, match=rf"web page.*expected {MD5}, found {found}.*rejected"):
        fetch(server.url, target, md5=MD5)
    assert len(server.requests) == 1
    assert not target.exists()
    assert (tmp_path / "file.npz.rejected").read_bytes() == PAGE


def test_a_wrong_file_never_takes_the_targets_name(server, tmp_path):
    server.content = CONTENT[:-1] + b"z"
    with pytest.raises(InputError, match=r"wrong checksum: MD5 expected"):
        fetch(server.url, tmp_path / "file.npz", md5=MD5)
    assert not (tmp_path / "file.npz").exists()


def test_404_is_told_at_once(server, tmp_path):
    server.statuses = [404]
    with pytest.raises(InputError, match=rf"HTTP status 404.*{MD5}"):
        fetch(server.url, tmp_path / "file.npz", md5=MD5)
    assert len(server.requests) == 1


def test_a_server_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match=r"could not be downloaded: .*refused.*By hand") as told:
        fetch("http://127.0.0.1:9/file.npz", tmp_path / "file.npz", timeout=2, by_hand="By hand.")
    assert "urlopen" not in str(told.value)
    assert "are kept" not in str(told.value)  # nothing came


def test_other_schemes_are_refused(tmp_path):
    with pytest.raises(InputError, match="only http and https"):
        fetch("file:///etc/passwd", tmp_path / "x", md5=MD5)


def test_a_full_disk_is_told_before_the_first_byte(server, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=10))
    with pytest.raises(StorageError, match=r"no space left.*1,024,000 bytes needed, 10 free"):
        fetch(server.url, tmp_path / "file.npz", md5=MD5)


def test_a_folder_that_cannot_be_is_told(server, tmp_path):
    (tmp_path / "folder").write_text("a file is here")
    with pytest.raises(StorageError, match=r"cannot write to .*Set data\.root"):
        fetch(server.url, tmp_path / "folder" / "file.npz", md5=MD5)


def test_several_at_once_fetch_it_once(server, tmp_path):
    target = tmp_path / "file.npz"
    threads = [
        threading.Thread(target=fetch, args=(server.url, target), kwargs={"md5": MD5})
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert target.read_bytes() == CONTENT
    assert len(server.requests) == 1
