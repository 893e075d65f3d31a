"""The nine other systems of the paper's Table 2, one file each, behind one contract.

Chapter 13 of the book introduces them. None of their public implementations has a licence: each is
written from the published mathematics, and none sees a label.
"""

from dmac.peers.base import Outcome, Peer

__all__ = ["Outcome", "Peer"]
