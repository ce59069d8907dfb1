"""The download path against a web server on this machine."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from crbm.datasets import locate as locate_module
from crbm.datasets.download import DownloadError, _Bar, download
from crbm.datasets.locate import DataNotFoundError, locate
from crbm.datasets.registry import Entry, File

CONTENT = b"real data\n" * 5000


class Handler(BaseHTTPRequestHandler):
    """/whole sends all, /broken half of what it announces, the rest is absent."""

    def do_GET(self) -> None:
        if self.path not in ("/whole", "/broken"):
            self.send_error(404)
            return
        self.server.requests.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        half = len(CONTENT) // 2
        self.wfile.write(CONTENT if self.path == "/whole" else CONTENT[:half])

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[str] = []


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.delenv("CRBM_DATA", raising=False)
    monkeypatch.setattr(locate_module, "cache_folder", lambda: folder)
    return folder


def address(server: Server, path: str) -> str:
    return f"http://127.0.0.1:{server.server_port}/{path}"


def known(*urls: str, content: bytes = CONTENT) -> File:
    return File("set/a.txt", hashlib.sha256(content).hexdigest(), urls)


def entry(file: File) -> Entry:
    return Entry("set", "A set", "http://example.invalid/", "Somebody", files=(file,))


def leftovers(folder: Path) -> list[Path]:
    return [place for place in folder.rglob("*") if place.is_file()]


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_download_is_kept_and_not_repeated(server, cache):
    wanted = entry(known(address(server, "whole")))
    for _ in range(2):
        (place,) = locate(wanted)
        assert place == cache / "set" / "a.txt"
        assert place.read_bytes() == CONTENT
    assert server.requests == ["/whole"]
    assert leftovers(cache) == [place]


def test_a_wrong_checksum_leaves_no_file(server, cache):
    url = address(server, "whole")
    with pytest.raises(ValueError, match=f"`a.txt` does not have its checksum.*{url}"):
        download(known(url, content=b"other"), cache)
    assert leftovers(cache) == []


@pytest.mark.parametrize("checksum", [True, False])
def test_a_broken_transfer_leaves_no_file(server, cache, checksum):
    """Without a checksum too: the server announced more than it sent."""
    url = address(server, "broken")
    file = known(url) if checksum else File("set/a.txt", None, (url,))
    with pytest.raises(DownloadError, match=r"`a.txt` could not be downloaded"):
        download(file, cache)
    assert leftovers(cache) == []


def test_the_next_mirror_is_tried(server, cache):
    urls = [address(server, path) for path in ("absent", "broken", "whole")]
    assert download(known(*urls), cache).read_bytes() == CONTENT


def test_without_a_network_the_message_says_what_to_do(cache):
    url = f"http://127.0.0.1:{closed_port()}/data/a.txt"
    with pytest.raises(DataNotFoundError) as caught:
        locate(entry(known(url)))
    message = str(caught.value)
    for part in (
        "`set` was not found",
        "ConnectionError",
        "`set/a.txt`",
        url.removesuffix("a.txt"),
        "http://example.invalid/",
        f"`{cache}`",
        "`CRBM_DATA`",
    ):
        assert part in message
    assert "\n" not in message


def test_a_missing_page_is_told(server, cache):
    with pytest.raises(DownloadError, match="HTTPError 404"):
        download(known(address(server, "absent")), cache)


def test_a_half_written_file_in_the_cache_is_fetched_anew(server, cache):
    place = cache / "set" / "a.txt"
    place.parent.mkdir(parents=True)
    place.write_bytes(CONTENT[:100])
    assert locate(entry(known(address(server, "whole")))) == [place]
    assert place.read_bytes() == CONTENT


def test_a_half_written_file_in_the_users_folder_is_an_error(
    cache, tmp_path, monkeypatch
):
    place = tmp_path / "mine" / "set" / "a.txt"
    place.parent.mkdir(parents=True)
    place.write_bytes(CONTENT[:100])
    monkeypatch.setenv("CRBM_DATA", str(tmp_path / "mine"))
    with pytest.raises(ValueError, match=rf"`{place}` does not have the checksum"):
        locate(entry(known()))
    assert locate(entry(known()), verify=False) == [place]


def test_the_order_is_path_then_variable_then_cache(cache, tmp_path, monkeypatch):
    places = [tmp_path / "path", tmp_path / "variable", cache]
    for folder in places:
        (folder / "set").mkdir(parents=True)
        (folder / "set" / "a.txt").write_bytes(CONTENT)
    monkeypatch.setenv("CRBM_DATA", str(places[1]))
    wanted = entry(known())
    assert locate(wanted, places[0]) == [places[0] / "set" / "a.txt"]
    assert locate(wanted) == [places[1] / "set" / "a.txt"]
    (places[1] / "set" / "a.txt").rename(places[1] / "a.txt")
    assert locate(wanted) == [places[1] / "a.txt"]
    (places[1] / "a.txt").unlink()
    assert locate(wanted) == [places[2] / "set" / "a.txt"]


def test_an_explicit_path_is_not_silently_replaced(server, cache, tmp_path):
    wanted = entry(known(address(server, "whole")))
    locate(wanted)
    with pytest.raises(DataNotFoundError, match=r"put them in `.*elsewhere`"):
        locate(wanted, tmp_path / "elsewhere")


def test_without_fetch_nothing_is_asked_of_the_network(server, cache):
    with pytest.raises(DataNotFoundError):
        locate(entry(known(address(server, "whole"))), fetch=False)
    assert server.requests == []


def test_the_other_files_serve_as_well(server, cache):
    other = File("set/b.txt", known().sha256, (address(server, "whole"),))
    wanted = Entry(
        "set", "A set", "http://p/", "S", files=(known(),), alternatives=(other,)
    )
    assert locate(wanted) == [cache / "set" / "b.txt"]


def test_the_bar_follows_what_pooch_tells_it():
    bar = _Bar("a.txt", show=True)
    bar.total = 10
    bar.update(4)
    assert (bar.total, bar._progress.tasks[0].completed) == (10, 4)
    bar.reset()
    bar.update(10)
    bar.close()
    assert bar._progress.finished
