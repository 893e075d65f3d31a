"""What a record says of its origin: it changes with what decides a result, and only with that."""

import re

import numpy as np
import scipy.sparse

import dmac
from experiments import provenance

SOURCE = '''"""About."""

import os  # why


def f(x):
    """What it does.

    At length.
    """
    return "# no comment" + x
'''


def test_essence_is_what_the_code_does():
    found = provenance.essence(SOURCE)
    assert found == 'import os\ndef f(x):\n    return "# no comment" + x'
    same = SOURCE.replace("About", "Of").replace("why", "because").replace("\n\n\n", "\n")
    assert provenance.essence(same) == found
    assert provenance.essence(SOURCE.replace("+ x", "+ 2 * x")) != found


def test_code_identity_follows_imports(tmp_path):
    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)

    def identity():
        provenance.code_identity.cache_clear()
        return provenance.code_identity(("a",), tmp_path)

    write("a", "from dmac.b import x\n")
    write("b", "import numpy\nfrom dmac import c\nfrom dmac.wing import e\n")
    write("c", "x = 1\n")
    (tmp_path / "wing").mkdir()
    write("wing/e", "x = 1\n")
    write("d", "y = 1\n")
    before = identity()
    write("d", "y = 2\n")
    write("b", "import numpy\nfrom dmac import c  # see\nfrom dmac.wing import e\n")
    assert identity() == before
    write("a", "from dmac.b import x\nif TYPE_CHECKING:\n    from dmac import d\n")
    typed = identity()
    write("d", "y = 3\n")  # which is there for types alone
    assert identity() == typed != before
    write("a", "from dmac.b import x\n")
    write("c", "x = 2\n")
    changed = identity()
    assert changed != before
    write("wing/e", "x = 2\n")  # a module that is imported from its package
    assert identity() not in (before, changed)
    provenance.code_identity.cache_clear()


def test_code_identity_of_the_package_covers_a_fit_but_not_its_figures():
    assert re.fullmatch("[0-9a-f]{16}", provenance.code_identity())
    imported = set(provenance._imports(provenance._PACKAGE / "fitting.py"))
    assert {"training", "network", "compute.parallel", "compute"} <= imported


def test_data_hash_sees_values_labels_and_order():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, 3)), np.arange(6) % 2

    def digest(views, labels=y):
        return provenance.data_hash(dmac.MultiViewData("toy", views, labels, 2))

    sparse = scipy.sparse.csr_matrix(np.where(x > 0, x, 0))
    base = digest([x, sparse])
    assert digest([np.asfortranarray(x), sparse.tocsc()]) == base
    changed = x.copy()
    changed[0, 0] += 1e-12
    others = [
        digest([changed, sparse]),
        digest([x, sparse], y[::-1].copy()),
        digest([x[:, ::-1], sparse]),
        digest([x, sparse.toarray()]),
        digest([x]),
    ]
    assert len({base, *others}) == 6


def test_peak_memory_counts_from_the_reset():
    if not provenance.reset_peak_memory():
        return
    before = provenance.peak_memory()
    block = np.ones(30_000_000)
    assert provenance.peak_memory() - before > 200
    del block
    provenance.reset_peak_memory()
    assert provenance.peak_memory() - before < 100


def test_arithmetic_names_the_instructions_and_who_chose_them(monkeypatch):
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    found = provenance.arithmetic()
    assert found["instructions"] and found["MKL_CBWR"] == "COMPATIBLE"
    assert "ATEN_CPU_CAPABILITY" not in found
