"""Fetching Camelyon17: all of it or nothing, one message, and no archive can write elsewhere."""

import gzip
import http.server
import io
import ssl
import tarfile
import threading
import urllib.error

import pytest

from medldr.datasets import camelyon17
from medldr.datasets._camelyon17 import folder as place
from medldr.errors import InputError


def config(root):
    return camelyon17.Config(root=root, packed="off", download=True)


def pack(folder, target, change=None):
    """The archive as it is published: metadata.csv and patches at its top."""
    with tarfile.open(target, "w:gz", compresslevel=1) as tar:
        for path in sorted(folder.iterdir()):
            tar.add(path, path.name)
        if change:
            change(tar)
    return target


@pytest.fixture
def archive(camelyon17_folder, tmp_path):
    return pack(camelyon17_folder / "camelyon17_v1.0", tmp_path / "whole.tar.gz")


@pytest.fixture
def server(monkeypatch):
    """A server in place of the published address: `content`, or `status` where it is not 200."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked += 1
            self.send_response(self.server.status)
            self.send_header("Content-Length", str(len(self.server.content)))
            self.end_headers()
            self.wfile.write(self.server.content)

        def log_message(self, *_):
            pass

    served = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    served.content, served.status, served.asked = b"", 200, 0
    served.url = f"http://127.0.0.1:{served.server_port}/blob/"
    monkeypatch.setattr(place, "published_archive", lambda: (served.url, 10_658_709_504))
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield served
    served.shutdown()
    thread.join()
    served.server_close()


@pytest.fixture
def root(tmp_path):
    return tmp_path / "new" / "root"


def left(root):
    """What is in a folder besides lock files."""
    return sorted(path.name for path in root.iterdir() if not path.name.endswith(".lock"))


def test_it_is_fetched_extracted_and_read(server, archive, root, capsys):
    server.content = archive.read_bytes()
    assert len(camelyon17.load(config(root))) == 60
    assert left(root) == ["camelyon17_v1.0"]
    assert server.asked == 1
    assert len(camelyon17.load(config(root))) == 60
    assert server.asked == 1
    assert capsys.readouterr().out == ""


def test_an_archive_that_was_placed_by_hand_is_extracted_and_kept(server, archive, root):
    root.mkdir(parents=True)
    (root / "camelyon17_v1.0.tar.gz").write_bytes(archive.read_bytes())
    assert len(camelyon17.load(config(root))) == 60
    assert server.asked == 0
    assert left(root) == ["camelyon17_v1.0", "camelyon17_v1.0.tar.gz"]


def test_a_folder_around_the_content_is_no_trouble(server, camelyon17_folder, tmp_path, root):
    server.content = pack(camelyon17_folder, tmp_path / "wrapped.tar.gz").read_bytes()
    assert len(camelyon17.load(config(root))) == 60


def test_a_host_that_fails_is_one_message_and_is_never_asked_without_tls(monkeypatch, root):
    failure = ssl.SSLCertVerificationError("certificate has expired")
    asked = []

    def urlopen(request, timeout):
        asked.append(request.full_url)
        raise urllib.error.URLError(failure)

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    with pytest.raises(InputError) as told:
        camelyon17.load(config(root))
    text = str(told.value)
    assert str(failure.args[-1]) in text
    assert str(root / "camelyon17_v1.0") in text
    assert asked
    assert all(url.startswith("https://") for url in asked)
    assert all(url in text for url in asked)
    assert left(root) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<html><body>moved</body></html>", "a web page instead of the file"),
        (gzip.compress(b"no tar"), "cannot be extracted"),
    ],
    ids=["a page", "compressed text"],
)
def test_what_is_no_archive_leaves_no_folder(server, root, content, said):
    server.content = content
    with pytest.raises(InputError, match=said):
        camelyon17.load(config(root))
    assert not (root / "camelyon17_v1.0").exists()
    assert not [name for name in left(root) if name.startswith(".camelyon17")]


def test_another_archive_is_told_by_what_it_lacks(server, tmp_path, root):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "readme.md").touch()
    server.content = pack(tmp_path / "other", tmp_path / "other.tar.gz").read_bytes()
    with pytest.raises(InputError, match=r"has no metadata\.csv.*readme\.md"):
        camelyon17.load(config(root))
    assert not (root / "camelyon17_v1.0").exists()


def _file(name):
    def add(tar):
        member = tarfile.TarInfo(name)
        member.size = 4
        tar.addfile(member, io.BytesIO(b"evil"))

    return add


def _link(name, to, kind):
    def add(tar):
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, to
        tar.addfile(member)

    return add


@pytest.mark.parametrize(
    "change",
    [
        _file("../evil.txt"),
        _file("patches/../../evil.txt"),
        _link("patches/out", "../..", tarfile.SYMTYPE),
        _link("patches/in", "patient_004_node_0", tarfile.SYMTYPE),
        _link("patches/hard", "../../secret", tarfile.LNKTYPE),
    ],
    ids=["above", "above, hidden", "link out", "link within", "hard link"],
)
def test_an_archive_that_would_write_elsewhere_or_holds_a_link_is_refused(
    change, server, camelyon17_folder, tmp_path, root
):
    server.content = pack(
        camelyon17_folder / "camelyon17_v1.0", tmp_path / "evil.tar.gz", change
    ).read_bytes()
    with pytest.raises(InputError, match="cannot be extracted"):
        camelyon17.load(config(root))
    assert not list(tmp_path.rglob("evil.txt"))
    assert not (root / "camelyon17_v1.0").exists()


@pytest.mark.parametrize("names", [(), ("data_filter", "FilterError")], ids=["new", "old"])
def test_an_archive_is_read_by_every_python(names, archive, monkeypatch, tmp_path):
    """Older patch releases of Python 3.10 and 3.11 have no `filter` to unpack with."""
    if names:
        given = tarfile.TarFile.extractall
        monkeypatch.setattr(
            tarfile.TarFile, "extractall", lambda tar, path, members: given(tar, path, members)
        )
    for name in names:
        monkeypatch.delattr(tarfile, name)
    place._extract(archive, tmp_path / "unpacked")
    assert (tmp_path / "unpacked" / "metadata.csv").is_file()


def test_an_http_error_is_one_message_with_address_and_places(server, root):
    server.status = 404
    with pytest.raises(InputError) as told:
        camelyon17.load(config(root))
    for word in ("404", server.url, str(root / "camelyon17_v1.0.tar.gz"), "By hand"):
        assert word in str(told.value)
    assert left(root) == []


def test_half_an_archive_leaves_no_folder(server, archive, root):
    root.mkdir(parents=True)
    content = archive.read_bytes()
    (root / "camelyon17_v1.0.tar.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="cannot be extracted"):
        camelyon17.load(config(root))
    assert left(root) == ["camelyon17_v1.0.tar.gz"]
