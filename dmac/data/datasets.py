"""Where the public data sets come from: one table.

None of these files states a licence, so none is part of the package: each is named by its public
repository, commit, path and SHA-256. :mod:`dmac.data.registry` finds or downloads them.

Chapter 1 of the book loads them through :func:`dmac.load`.
"""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass

#: The host that :meth:`Dataset.url` names.
BASE_URL = "https://raw.githubusercontent.com"
#: What readers are shown for a name of :func:`dmac.load` that is a copy of another registered set.
TITLES = {"mfeat": "HandWritten"}


def title_of(name: str) -> str:
    """The name of a data set in tables and figures: one for both copies of the same samples."""
    return TITLES.get(name, name)


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
    n_samples, dims, n_clusters : int, tuple of int, int
        n, the widths of the v views, and c, the classes.
    """

    name: str
    repository: str
    commit: str
    path: str
    sha256: str
    layout: str
    description: str
    n_samples: int = 0
    dims: tuple[int, ...] = ()
    n_clusters: int = 0

    @property
    def filename(self) -> str:
        """The file's name, as it is looked for and cached."""
        return self.path.rsplit("/", 1)[-1]

    def url(self, base_url: str = BASE_URL) -> str:
        """The address of the file at its commit, with another host if ``base_url`` names one."""
        path = urllib.parse.quote(f"{self.repository}/{self.commit}/{self.path}")
        return f"{base_url.rstrip('/')}/{path}"


_GMC = ("cshaowang/gmc", "bceab2fe2c3c9aab0d5bf2dcce2ee255a53560c9")
_WHBDMU = ("whbdmu/Multi-view-datasets", "bc4be3ff96f10e11d26b9be09bbdc2e8bb76a17a")
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
            n_samples=680,
            dims=(484, 256, 279),
            n_clusters=68,
        ),
        Dataset(
            "BBC",
            *_KONG,
            "data/BBC4view_685.mat",
            "d126e551266aa0e8c6883b29a6468b3c09739c2ef61dde2df3b78179f42080bd",
            "X cell (1, 4) of sparse 685 x 4659, 4633, 4665, 4684, Y 1..5, sorted; raw term counts",
            "BBC news, 685 documents, 5 topics, 4 text segments as views: the paper's BBC exactly",
            n_samples=685,
            dims=(4659, 4633, 4665, 4684),
            n_clusters=5,
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
            n_samples=6773,
            dims=(20, 20, 20),
            n_clusters=20,
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
            n_samples=1079,
            dims=(64, 64, 77, 13),
            n_clusters=10,
        ),
        Dataset(
            "Yale-3view",
            *_WHBDMU,
            "yaleA_3view.mat",
            "9caee249a4d2f0e653fa95a7731921991ca9594b8a3d0959b3e961520a638cb2",
            "X cell (3, 1) of 165 x 9, 512, 50, Y 1..15, sorted, 11 a class",
            "Yale faces, 165 samples of 15 persons: the paper's faces, other views",
            n_samples=165,
            dims=(9, 512, 50),
            n_clusters=15,
        ),
        Dataset(
            "BBCSport",
            *_KONG,
            "data/BBCSport.mat",
            "c9fe9b76dfb96accf856bf3fbcf9a2b07bdc113d28f70e79ed4032adf05550af",
            "X cell (1, 2) of sparse 544 x 3183, 3203, Y 1..5",
            "BBC sport news, 544 documents in 5 topics, 2 text segments as views; not in the paper",
            n_samples=544,
            dims=(3183, 3203),
            n_clusters=5,
        ),
        Dataset(
            "NGs",
            *_GMC,
            "Dataset/NGs.mat",
            "9af539d5d9608bebe7d7ed97290571464f7dc51e7ab6a2c8d35d7eb13c3f7f0d",
            "data cell (1, 3), transposed (2000 x 500), truelabel cell of 3 equal vectors 1..5",
            "A subset of 20 newsgroups, 500 documents in 5 groups, 3 views; not in the paper",
            n_samples=500,
            dims=(2000, 2000, 2000),
            n_clusters=5,
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
            n_samples=2000,
            dims=(240, 76, 216, 47, 64, 6),
            n_clusters=10,
        ),
        Dataset(
            "100Leaves",
            *_GMC,
            "Dataset/100leaves.mat",
            "75dcd8873c074d4a61b05cb495c072712628fdc51f58db06512bc5bcf7831ef7",
            "data cell (1, 3), transposed (64 x 1600), truelabel cell of 3 equal vectors 1..100",
            "Leaves of 100 plant species, 1600 samples, 3 views (shape, texture, margin); not in "
            "the paper",
            n_samples=1600,
            dims=(64, 64, 64),
            n_clusters=100,
        ),
        Dataset(
            "3Sources",
            *_GMC,
            "Dataset/3sources.mat",
            "02954038b3f3cb0e443ce09cbde08e9cc378d254beae536287304de000e0bf02",
            "data cell (1, 3), transposed (3560, 3631, 3068 x 169, uint8), truelabel cell 1..6",
            "News told by three sources, 169 stories in 6 topics, word counts; not in the paper",
            n_samples=169,
            dims=(3560, 3631, 3068),
            n_clusters=6,
        ),
        Dataset(
            "CiteSeer",
            *_WHBDMU,
            "CiteSeer.mat",
            "36808ee290d157afbaf30b0a056ba857c364be954892badb0e4952476bcdc160",
            "fea cell (1, 2) of sparse 3312 x 3312 (citations), 3703 (words), gt 1..6, unsorted",
            "Scientific papers, 3312 in 6 fields, citations and words as views; not in the paper",
            n_samples=3312,
            dims=(3312, 3703),
            n_clusters=6,
        ),
        Dataset(
            "Cora",
            *_WHBDMU,
            "Cora.mat",
            "6c7ad492ef75f94035eec3bb374cd12c1f56e26db6b7ebcbf873e5863686336f",
            "X cell (4, 1) of 2708 x 2708, 1433, 2706, 2706 (uint8), y 1..7, unsorted; views 3 and "
            "4 are the same matrix, 1143 rows of which are zero",
            "Scientific papers, 2708 in 7 fields, citations and words as views, one of them twice; "
            "not in the paper",
            n_samples=2708,
            dims=(2708, 1433, 2706, 2706),
            n_clusters=7,
        ),
        Dataset(
            "HW2sources",
            *_WHBDMU,
            "HW2.mat",
            "75843f61557ab3a673c2435445551da181b80c3aa0886829d5dc202cb26ff2be",
            "data cell (2, 1) of 2000 x 784, 256 (uint8), labels 1..10, sorted",
            "Numerals from two sources, 2000 pairs of images of the same digit; not in the paper",
            n_samples=2000,
            dims=(784, 256),
            n_clusters=10,
        ),
        Dataset(
            "Hdigit",
            *_WHBDMU,
            "Hdigit.mat",
            "5ec8b26ab443c5296c7f6d71074a6827d722ab49ab7144cfa5b832891b053aa7",
            "X cell (2, 1) of 10000 x 784, 256 (uint8), Y 1..10, sorted",
            "Numerals from two sources, 10000 pairs of images of the same digit; not in the paper",
            n_samples=10000,
            dims=(784, 256),
            n_clusters=10,
        ),
        Dataset(
            "WebKB",
            *_WHBDMU,
            "WebKB.mat",
            "42a7ab1b44808164aaec8ce24d9201fc4bfe45ba6d08497778953869fb692f84",
            "X cell (2, 1) of 1051 x 1840, 3000, Y 1..2, sorted; five rows of each view are zero",
            "Web pages of universities, 1051 in 2 classes, links and words; not in the paper",
            n_samples=1051,
            dims=(1840, 3000),
            n_clusters=2,
        ),
        Dataset(
            "MNIST-4",
            "ChuanbinZhang/Multi-view-datasets",
            "03ead31e6538322e4e0701c3c28a01595c1a015d",
            "MNIST-4.mat",
            "7dbb45040d6ecd41f68f6076efeabe78b466721894dde382b9a258ce10b22502",
            "X cell (3, 1) of 4000 x 30, 9, 30, y 1..4, sorted; columns of very different scale",
            "Handwritten digits 0 to 3, 4000 images, 3 reductions as views; not in the paper",
            n_samples=4000,
            dims=(30, 9, 30),
            n_clusters=4,
        ),
    )
}
