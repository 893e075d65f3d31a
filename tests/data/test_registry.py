"""The registered files: the table, the reader's own copies, and downloads from a local server."""

import dataclasses
import hashlib
import http.server
import os
import re
import socket
import threading
from pathlib import Path

import numpy as np
import pooch
import pytest
import requests
import scipy.sparse.linalg

import dmac
from dmac.data.datasets import BASE_URL, DATASETS, KINDS, Dataset
from dmac.data.registry import DownloadError, fetch
from dmac.data.whitening import RowNormalizer

CONTENT = bytes(range(256)) * 4000  # about 1 MB, so that a cut falls into the body


@pytest.fixture(autouse=True)
def no_outside(monkeypatch, tmp_path):
    """No reader's folder, an own cache, and no address but the loopback interface."""
    proxies = ("http_proxy", "https_proxy", "all_proxy")
    for variable in ("DMAC_DATA", "DMAC_BASE_URL", *proxies, *map(str.upper, proxies)):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("DMAC_CACHE", str(tmp_path / "cache"))
    connect = socket.socket.connect

    def loopback_only(self, address):
        assert address[0] == "127.0.0.1", f"the test tried to reach {address}"
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", loopback_only)


@pytest.fixture
def dataset(monkeypatch):
    """A registered file whose bytes are `CONTENT`, with a path that needs quoting."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    entry = Dataset("Toy", "owner/name", "c0ffee", "data/my file#1.mat", digest, "", "")
    monkeypatch.setitem(DATASETS, "Toy", entry)
    return entry


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers every request in the way that its server's ``answer`` names."""

    def do_GET(self):
        self.server.requests.append(self.path)
        answer = self.server.answer
        if answer == "404":
            return self.send_error(404)
        body = CONTENT if answer != "wrong" else CONTENT[::-1]
        self.send_response(200)
        if answer != "cut without length":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if answer.startswith("cut") else body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(monkeypatch):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        httpd.answer, httpd.requests = "right", []
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("DMAC_BASE_URL", f"http://127.0.0.1:{httpd.server_address[1]}")
        yield httpd
        httpd.shutdown()
        thread.join()


def cached(tmp_path):
    return list((tmp_path / "cache").rglob("*"))


def test_right_file_is_downloaded_once(dataset, server, tmp_path):
    path = fetch("toy")
    assert path.read_bytes() == CONTENT
    assert cached(tmp_path) == [path] == [fetch("Toy")]
    assert server.requests == ["/owner/name/c0ffee/data/my%20file%231.mat"]


@pytest.mark.parametrize("answer", ["404", "wrong", "cut", "cut without length"])
def test_failed_download_is_explained_and_leaves_nothing(dataset, server, tmp_path, answer):
    server.answer = answer
    with pytest.raises(DownloadError, match="DMAC_DATA") as caught:
        fetch("Toy")
    message = str(caught.value)
    assert "'Toy'" in message and dataset.sha256 in message and "my file#1.mat" in message
    assert f"http://127.0.0.1:{server.server_address[1]}/owner/name/c0ffee" in message
    assert isinstance(caught.value.__cause__, (requests.RequestException, ValueError))
    assert re.search({"404": "404", "cut": "Incomplete|SHA256"}.get(answer, "SHA256"), message)
    assert cached(tmp_path) == []
    server.answer = "right"  # and the next try starts afresh
    assert fetch("Toy").read_bytes() == CONTENT


def test_no_network(dataset, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(DownloadError, match="could not be downloaded.*DMAC_DATA") as caught:
        fetch("Toy", base_url=f"http://127.0.0.1:{port}/")
    assert isinstance(caught.value.__cause__, requests.ConnectionError)
    assert cached(tmp_path) == []


def test_damaged_cache_is_replaced(dataset, server):
    path = fetch("Toy")
    path.write_bytes(CONTENT[:100])
    assert fetch("Toy") == path and path.read_bytes() == CONTENT


def test_readers_copy_comes_first_wherever_it_lies(dataset, server, tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    other, right = (folder / place / dataset.filename for place in ("a", "b/deep"))
    for path, content in ((other, b"another file of that name"), (right, CONTENT)):
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    monkeypatch.setenv("DMAC_DATA", str(folder))
    assert fetch("Toy") == right
    assert server.requests == [] and cached(tmp_path) == []


def test_wrong_copy_is_an_error_unless_it_is_another_registered_file(
    dataset, server, tmp_path, monkeypatch
):
    """WebKB.mat is the name of two registered files."""
    wrong, found = tmp_path / dataset.filename, hashlib.sha256(b"of the other").hexdigest()
    wrong.write_bytes(b"of the other")
    monkeypatch.setenv("DMAC_DATA", str(tmp_path))
    message = f"{re.escape(str(wrong))}.*expected SHA-256 {dataset.sha256}, found {found}"
    with pytest.raises(ValueError, match=message):
        fetch("Toy")
    other = dataclasses.replace(dataset, sha256=found, name="Other", path="b/Toy.mat")
    monkeypatch.setitem(DATASETS, "Other", other)
    assert fetch("Toy").read_bytes() == CONTENT and len(server.requests) == 1  # the first made none


def test_a_folder_without_a_copy_means_download_and_no_folder_an_error(
    dataset, server, tmp_path, monkeypatch
):
    monkeypatch.setenv("DMAC_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="DMAC_DATA.*nowhere.*not a folder"):
        fetch("Toy")
    (tmp_path / "nowhere").mkdir()
    assert fetch("Toy").read_bytes() == CONTENT and len(server.requests) == 1  # the first made none


def test_what_was_made_is_not_downloaded(dataset, server, tmp_path, monkeypatch):
    monkeypatch.setitem(DATASETS, "Toy", dataclasses.replace(dataset, made="two tables of owner"))
    with pytest.raises(DownloadError, match=f"two tables of owner.*{dataset.sha256}.*DMAC_DATA"):
        fetch("Toy")
    monkeypatch.setenv("DMAC_DATA", str(tmp_path))
    (tmp_path / dataset.filename).write_bytes(CONTENT)
    assert fetch("Toy").read_bytes() == CONTENT and server.requests == []


def test_table():
    for entry in DATASETS.values():
        assert re.fullmatch("[0-9a-f]{64}", entry.sha256) and entry.kind in KINDS
        assert entry.layout and entry.description and entry.path.endswith((".mat", ".npz"))
        if entry.made:
            assert entry.path == entry.filename and not entry.commit and entry.repository
        else:
            assert re.match(re.escape(BASE_URL) + r"/[\w.-]+/[\w.-]+/[0-9a-f]{40}/", entry.url())
        assert 1 < entry.n_clusters < entry.n_samples and min(entry.dims) > 0
    assert len({entry.sha256 for entry in DATASETS.values()}) == len(DATASETS)


SPARSE = ("BBC", "BBCSport", "CiteSeer", "WebKB-Wisconsin-265", "Reuters-1200")
#: Sets in which samples lack a view.
LACKING = {
    *("Cora", "WebKB", "BDGP-1000-500", "Reuters-1200", "WebKB-203", "WebKB-Wisconsin-265"),
    *("WebKB-Texas-187", "CKM-246", "TIMME-PureP-583", "Ads-998", "Segmentation-2100"),
}
DATA = os.environ.get("DMAC_DATA")  # read before the fixture above unsets it


@pytest.mark.parametrize("name", list(DATASETS))
def test_real_files_have_the_registered_hashes_and_sizes(name, monkeypatch):
    digests = (pooch.file_hash(path) for path in Path(DATA or ".").rglob(DATASETS[name].filename))
    if not DATA or DATASETS[name].sha256 not in digests:
        pytest.skip(f"{DATASETS[name].filename} is not in the folder named by DMAC_DATA")
    monkeypatch.setenv("DMAC_DATA", DATA)
    assert fetch(name.swapcase()).name == DATASETS[name].filename
    data, entry = dmac.load(name), DATASETS[name]
    for about in ("name", "n_samples", "dims", "n_clusters"):
        assert getattr(data, about) == getattr(entry, about)
    assert set(data.labels) == set(range(entry.n_clusters)) and data.labels.dtype == np.int64
    kinds = {(x.dtype, scipy.sparse.issparse(x)) for x in data.views}
    assert kinds == {(np.dtype("float64"), name in SPARSE)}
    norm = (scipy.sparse.linalg if name in SPARSE else np.linalg).norm
    lengths = [(norm(x, axis=1), RowNormalizer().fit(x).floor_) for x in data.views]
    assert any((x == 0).any() for x, _ in lengths) == (name in LACKING)
    # Rows of hardly any length are in CCV alone, as RowNormalizer's text says.
    assert name == "CCV-20d" or not any(((x > 0) & (x < floor)).any() for x, floor in lengths)
