"""The nine other systems of the paper's Table 2, and one more, behind one contract: a file each.

The book's chapter on the field introduces them, and lists where each departs from its paper and its
public code. None of these codes has a licence: each system is written from the published
mathematics, and none sees a label. The tenth, SNF, is what people install who measure the same
patients in several ways. Another joins by a file here, its import, and its name in `ALL` and
`__all__`.
"""

from dmac.peers.base import Outcome, Peer
from dmac.peers.cmgec import CMGEC
from dmac.peers.dealmvc import DealMVC
from dmac.peers.dfp_gnn import DFPGNN
from dmac.peers.gcfagg import GCFAggMVC
from dmac.peers.gmc import GMC
from dmac.peers.lmvsc import LMVSC
from dmac.peers.msgl import MSGL
from dmac.peers.snf import SNF
from dmac.peers.surer import SURER
from dmac.peers.udbgl import UDBGL

#: Every system by its name in tables: in the order of the paper's Table 2, then what it lacks.
ALL = {
    "GMC": GMC,
    "MSGL": MSGL,
    "LMVSC": LMVSC,
    "UDBGL": UDBGL,
    "CMGEC": CMGEC,
    "DealMVC": DealMVC,
    "GCFAggMVC": GCFAggMVC,
    "DFP-GNN": DFPGNN,
    "SURER": SURER,
    "SNF": SNF,
}

__all__ = [
    "ALL",
    "CMGEC",
    "DFPGNN",
    "GMC",
    "LMVSC",
    "MSGL",
    "SNF",
    "SURER",
    "UDBGL",
    "DealMVC",
    "GCFAggMVC",
    "Outcome",
    "Peer",
]
