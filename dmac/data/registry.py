"""The files of the public data sets: the reader's own copy, or a download with a checksum.

:mod:`dmac.data.datasets` is the table of what is registered.

Chapter 1 of the book loads them through :func:`dmac.load`.
"""

from __future__ import annotations

import os
import urllib.parse
import warnings
from pathlib import Path

from dmac.data.datasets import BASE_URL, DATASETS, Dataset

_HERE = ("127.0.0.1", "::1", "localhost")


class DownloadError(RuntimeError):
    """A registered file could not be downloaded, or what came is not the registered file."""


def _local_copy(dataset: Dataset) -> Path | None:
    """The file in the folder named by DMAC_DATA, or None where it has no file of that name."""
    folder = os.environ.get("DMAC_DATA")
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise ValueError(
            f"DMAC_DATA names {folder!r}, which is not a folder: correct or unset the variable"
        )
    import pooch

    files = sorted(path for path in Path(folder).rglob(dataset.filename) if path.is_file())
    copies = {pooch.file_hash(path): path for path in files}
    registered = {other.sha256 for other in DATASETS.values()}  # some have the same file name
    strange = [found for found in copies if found not in registered]
    if strange and dataset.sha256 not in copies:
        raise ValueError(
            f"{copies[strange[0]]} is not the registered file of {dataset.name!r}: expected "
            f"SHA-256 {dataset.sha256}, found {strange[0]}. Replace or remove it, or load it as "
            "your own data by its path"
        )
    return copies.get(dataset.sha256)


def fetch(name: str, *, base_url: str | None = None) -> Path:
    """The path of a registered file, downloaded if the reader has no copy.

    A file of that name anywhere under the folder named by ``DMAC_DATA`` is used first. Otherwise
    the file is taken from the cache (the folder named by ``DMAC_CACHE``, else the operating
    system's cache folder), into which it is downloaded once. A few files were made from others
    (:attr:`Dataset.made <dmac.data.datasets.Dataset>`) and are nowhere to be downloaded.

    Parameters
    ----------
    name : str
        A key of :data:`dmac.data.datasets.DATASETS`, in any case.
    base_url : str, optional
        Address that stands for ``https://raw.githubusercontent.com``, such as a mirror's; by
        default the environment variable ``DMAC_BASE_URL``, if set.

    Returns
    -------
    pathlib.Path
        A file whose SHA-256 is the registered one.

    Raises
    ------
    ValueError
        If the name is not registered, ``DMAC_DATA`` is not a folder, the file in it has another
        SHA-256, or the address is not https (on this machine http will do).
    DownloadError
        If the download fails, is cut short or brings another file; nothing of it stays. Or if there
        is nothing to download.
    """
    dataset = {key.lower(): entry for key, entry in DATASETS.items()}.get(str(name).lower())
    if dataset is None:
        raise ValueError(f"no data set {name!r}; registered are {', '.join(DATASETS)}")
    with warnings.catch_warnings():
        # Only here, for pooch brings tqdm's notebook bar, which warns where there are no widgets.
        warnings.filterwarnings("ignore", message="IProgress not found")
        import pooch
    local = _local_copy(dataset)
    if local is not None:
        return local
    if dataset.made:
        raise DownloadError(
            f"{dataset.name!r} cannot be downloaded, for it was made from what is published: "
            f"{dataset.made}. Place {dataset.filename} with SHA-256 {dataset.sha256} in a folder "
            "and name that folder in the environment variable DMAC_DATA"
        )
    url = dataset.url(base_url or os.environ.get("DMAC_BASE_URL") or BASE_URL)
    address = urllib.parse.urlsplit(url)
    if address.scheme != "https" and not (address.scheme == "http" and address.hostname in _HERE):
        raise ValueError(f"{url} is not https: name another address, or none (DMAC_BASE_URL)")
    responses = []
    downloader = pooch.HTTPDownloader(
        timeout=60,
        hooks={"response": lambda response, **_: responses.append(response)},
    )
    # pooch downloads to a temporary file beside the target and moves it only if the hash is right
    try:
        return Path(
            pooch.retrieve(
                url,
                known_hash=f"sha256:{dataset.sha256}",
                fname=f"{dataset.sha256[:12]}-{dataset.filename}",  # names are not unique
                path=os.environ.get("DMAC_CACHE") or pooch.os_cache("dmac"),
                downloader=downloader,
            )
        )
    except Exception as error:
        raise DownloadError(
            f"{dataset.name!r} could not be downloaded from {url}: {error}. The file should be "
            f"{dataset.filename} with SHA-256 {dataset.sha256}. Try again, or place it in a folder "
            "and name that folder in the environment variable DMAC_DATA"
        ) from error
    finally:
        for response in responses:  # pooch leaves them open when it fails
            response.close()
