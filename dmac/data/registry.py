"""Where the public data sets come from: one table, and fetching with a checksum.

None of these files states a licence, so none is part of the package: each is named by its public
repository, commit, path and SHA-256, and read from the reader's own copy or downloaded.

Chapter 1 of the book loads them through :func:`dmac.load`.
"""

import hashlib
import os
import urllib.parse
import warnings
from dataclasses import dataclass
from pathlib import Path

#: The host that :meth:`Dataset.url` names.
BASE_URL = "https://raw.githubusercontent.com"


class DownloadError(RuntimeError):
    """A registered file could not be downloaded, or what came is not the registered file."""


@dataclass(frozen=True)
class Dataset:
    """One registered file.

    Attributes
    ----------
    name : str
        As :func:`dmac.load` takes it.
    repository, commit, path : str
        GitHub repository (owner/name), commit and path of the public copy.
    sha256 : str
        Of the file's bytes.
    layout : str
        The variables in the file, sizes and quirks.
    description : str
        What the samples and views are, and how the set relates to the paper's Table 1.
    """

    name: str
    repository: str
    commit: str
    path: str
    sha256: str
    layout: str
    description: str

    @property
    def filename(self):
        """The file's name, as it is looked for and cached."""
        return self.path.rsplit("/", 1)[-1]

    def url(self, base_url=BASE_URL):
        """The address of the file at its commit, with another host if ``base_url`` names one."""
        path = urllib.parse.quote(f"{self.repository}/{self.commit}/{self.path}")
        return f"{base_url.rstrip('/')}/{path}"

    @property
    def citation(self):
        """Where the file comes from, for a table or a caption."""
        return f"github.com/{self.repository}, {self.path} at commit {self.commit}"


_GMC = ("cshaowang/gmc", "bceab2fe2c3c9aab0d5bf2dcce2ee255a53560c9")
_KONG = ("zskong/Multi-view-data", "7e06a445cc6867cf1c6574b0d49e461eceac404a")

#: The registered files by name.
DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "PIE",
            "drongwbc/DMAC-AAAI25",
            "ae738b230d3856e810cfaf280599dd750526e9d9",
            "data/PIE.mat",
            "aff9c5064a4e0240f47874509cb1377cc4d56a85c6493eca6d7417863e9c5231",
            "X1, X2, X3 (680 x 484, 256, 279, float64), Y 1..68, sorted, 10 a class",
            "PIE faces, 680 samples of 68 persons, 3 views: the paper's PIE exactly",
        ),
        Dataset(
            "BBC",
            *_KONG,
            "data/BBC4view_685.mat",
            "d126e551266aa0e8c6883b29a6468b3c09739c2ef61dde2df3b78179f42080bd",
            "X cell (1, 4) of sparse 685 x 4659, 4633, 4665, 4684, Y 1..5, sorted; raw term counts",
            "BBC news, 685 documents, 5 topics, 4 text segments as views: the paper's BBC exactly",
        ),
        Dataset(
            "CCV-20d",
            "longzhen520/S2MVTC",
            "c1f9295d881c28c3a0bd0fd34e920570e2e7b53e",
            "datasets/CCV.mat",
            "1a18848a34c5d6d6f054c24cfbda7a9936ff1ca5060e2b9cc7022a9a8c6a415a",
            "X cell (1, 3) of 6773 x 20, Y 1..20, unsorted; some rows are numerically zero",
            "Columbia consumer video, 6773 samples of 20 classes: the paper's samples and classes "
            "with 20-dimensional reductions as views, not the paper's views",
        ),
        Dataset(
            "ALOI-10",
            "AllminerLab/Code-for-UIMC-master",
            "c6b06be146850db6b56ee713e0359e6aa73175a6",
            "data/ALOI.mat",
            "1f5e540e0a83a6548cd9a25d99f619189861f737dd60bcbdfffbca9b69b964f1",
            "X cell (1, 4), transposed (64, 64, 77, 13 x 1079), truth 1..10; columns at 3e13",
            "ALOI object images, 1079 samples of 10 objects, 4 views: a subset, not the paper's "
            "100 classes",
        ),
        Dataset(
            "Yale-3view",
            "whbdmu/Multi-view-datasets",
            "bc4be3ff96f10e11d26b9be09bbdc2e8bb76a17a",
            "yaleA_3view.mat",
            "9caee249a4d2f0e653fa95a7731921991ca9594b8a3d0959b3e961520a638cb2",
            "X cell (3, 1) of 165 x 9, 512, 50, Y 1..15, sorted, 11 a class",
            "Yale faces, 165 samples of 15 persons: the paper's faces, other views",
        ),
        Dataset(
            "BBCSport",
            *_KONG,
            "data/BBCSport.mat",
            "c9fe9b76dfb96accf856bf3fbcf9a2b07bdc113d28f70e79ed4032adf05550af",
            "X cell (1, 2) of sparse 544 x 3183, 3203, Y 1..5",
            "BBC sport news, 544 documents in 5 topics, 2 text segments as views; not in the paper",
        ),
        Dataset(
            "NGs",
            *_GMC,
            "Dataset/NGs.mat",
            "9af539d5d9608bebe7d7ed97290571464f7dc51e7ab6a2c8d35d7eb13c3f7f0d",
            "data cell (1, 3), transposed (2000 x 500), truelabel cell of 3 equal vectors 1..5",
            "A subset of 20 newsgroups, 500 documents in 5 groups, 3 views; not in the paper",
        ),
        Dataset(
            "HandWritten",
            "jiajunsi/RCML",
            "c9c5ab41e6fe62a85e5f6441a4dc7b568e1fa421",
            "data/handwritten.mat",
            "8a9ad81f11c05fd7f07f1369bcbbaefc3d391bad10d3aa32366bd47d608eb05d",
            "X cell (1, 6) of 2000 x 240, 76, 216, 47, 64, 6 (uint8, uint16, float64), Y 0..9",
            "UCI Multiple Features in full precision, 2000 numerals, 6 views in another order than "
            "mfeat; not in the paper",
        ),
        Dataset(
            "100Leaves",
            *_GMC,
            "Dataset/100leaves.mat",
            "75dcd8873c074d4a61b05cb495c072712628fdc51f58db06512bc5bcf7831ef7",
            "data cell (1, 3), transposed (64 x 1600), truelabel cell of 3 equal vectors 1..100",
            "Leaves of 100 plant species, 1600 samples, 3 views (shape, texture, margin); not in "
            "the paper",
        ),
    )
}


def _sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _local_copy(dataset):
    """The file in the folder named by DMAC_DATA, or None where it has no file of that name."""
    folder = os.environ.get("DMAC_DATA")
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise ValueError(
            f"DMAC_DATA names {folder!r}, which is not a folder: correct or unset the variable"
        )
    copies = sorted(path for path in Path(folder).rglob(dataset.filename) if path.is_file())
    hashes = {path: _sha256(path) for path in copies}
    for path, digest in hashes.items():
        if digest == dataset.sha256:
            return path
    if copies:
        raise ValueError(
            f"{copies[0]} is not the registered file of {dataset.name!r}: expected SHA-256 "
            f"{dataset.sha256}, found {hashes[copies[0]]}. Replace or remove it, or load it as "
            "your own data by its path"
        )
    return None


def fetch(name, *, base_url=None, progressbar=False):
    """The path of a registered file, downloaded if the reader has no copy.

    A file of that name anywhere under the folder named by ``DMAC_DATA`` is used first. Otherwise
    the file is taken from the cache (the folder named by ``DMAC_CACHE``, else the operating
    system's cache folder), into which it is downloaded once.

    Parameters
    ----------
    name : str
        A key of `DATASETS`, in any case.
    base_url : str, optional
        Address that stands for ``https://raw.githubusercontent.com``, such as a mirror's; by
        default the environment variable ``DMAC_BASE_URL``, if set.
    progressbar : bool
        Show one while downloading (needs tqdm).

    Returns
    -------
    pathlib.Path
        A file whose SHA-256 is the registered one.

    Raises
    ------
    ValueError
        If the name is not registered, ``DMAC_DATA`` is not a folder, or the file in it has another
        SHA-256.
    DownloadError
        If the download fails, is cut short or brings another file; nothing of it stays.
    """
    known = {key.lower(): dataset for key, dataset in DATASETS.items()}
    dataset = known.get(str(name).lower())
    if dataset is None:
        raise ValueError(f"no data set {name!r}; registered are {', '.join(DATASETS)}")
    local = _local_copy(dataset)
    if local is not None:
        return local
    with warnings.catch_warnings():
        # Only here, for pooch brings tqdm's notebook bar, which warns where there are no widgets.
        warnings.filterwarnings("ignore", message="IProgress not found")
        import pooch
    cache = Path(os.environ.get("DMAC_CACHE") or pooch.os_cache("dmac"))
    url = dataset.url(base_url or os.environ.get("DMAC_BASE_URL") or BASE_URL)
    responses = []
    downloader = pooch.HTTPDownloader(
        progressbar=progressbar,
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
                path=cache,
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
