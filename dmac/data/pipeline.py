"""What every view goes through before the network sees it, learned once and stored.

Chapter 11 of the book says why each step is there.
"""

import numpy as np
import scipy.sparse

from dmac.data.whitening import RowNormalizer, Whitening


class ViewPipeline:
    r"""One view's way to the network: square root, unit rows, whitened principal directions.

    1. With ``root``, a view without negative entries (counts, histograms, intensities, magnitudes)
       is replaced by its entrywise square root, which evens out the variance of counts and turns
       Euclidean into Hellinger distance between histograms. A view with negative entries stays.
    2. Rows to unit length (:class:`dmac.data.whitening.RowNormalizer`).
    3. With ``n_components``, the r leading principal directions, divided by
       :math:`\sqrt{\sigma_j^2 + \rho \bar{\sigma^2}}` (:eq:`eq:whitening` with a ridge,
       :class:`dmac.data.whitening.Whitening`), then rows to unit length again.

    Parameters
    ----------
    root : bool
    n_components : int or None
        r; None stops after step 2.
    ridge : float
        :math:`\rho`.

    Attributes
    ----------
    n_features_out_ : int
        Width of the result: d_a or r, at least 1 (a column of zeros if all samples are equal).
    """

    def __init__(self, root=False, n_components=None, ridge=0.0):
        self.root = root
        self.n_components = n_components
        self.ridge = ridge

    def fit_transform(self, x):
        """Learn the steps from a checked view (n, d_a), dense or CSR, and apply them to it.

        Returns
        -------
        numpy.ndarray of shape (n, r), or (n, d_a) and CSR where a sparse view is not whitened
        """
        stored = x.data if scipy.sparse.issparse(x) else x
        self.root_ = bool(self.root and (stored.size == 0 or stored.min() >= 0))
        self.rows_ = RowNormalizer()
        x = self.rows_.fit_transform(self._rooted(x))
        self.whitening_ = self.whitened_rows_ = None
        if self.n_components is not None:
            self.whitening_ = Whitening(self.n_components, self.ridge)
            x = self.whitening_.fit_transform(x)
            self.whitened_rows_ = RowNormalizer()
            x = self._padded(x)
            x = self.whitened_rows_.fit_transform(x)
        self.n_features_out_ = x.shape[1]
        return x

    def fit_streamed(self, array):
        """Learn the steps from a `dmac.data.disk.StreamedArray`, with a block in memory at a time.

        Parameters
        ----------
        array : dmac.data.disk.StreamedArray of shape (n, d_a)

        Returns
        -------
        numpy.ndarray of shape (n, r) or None
            The whitened view, which is small; without ``n_components`` it stays on disk, and
            `transform` gives its blocks.
        """
        self.root_ = self.root and all(x.min() >= 0 for x in array.blocks())
        self.rows_ = RowNormalizer()
        self.rows_.fit_blocks(self._rooted(x) for x in array.blocks())
        self.whitening_ = self.whitened_rows_ = None
        self.n_features_out_ = array.shape[1]
        if self.n_components is None:
            return None

        def blocks():
            return (self.rows_.transform(self._rooted(x)) for x in array.blocks())

        self.whitening_ = Whitening(self.n_components, self.ridge).fit_blocks(blocks, array.shape)
        self.whitened_rows_ = RowNormalizer()
        x = self._padded(np.concatenate([self.whitening_.transform(x) for x in blocks()]))
        self.n_features_out_ = x.shape[1]
        return self.whitened_rows_.fit_transform(x)

    def transform(self, x):
        """Apply the stored steps to checked new samples of shape (n_new, d_a)."""
        x = self.rows_.transform(self._rooted(x))
        if self.whitening_ is not None:
            x = self.whitened_rows_.transform(self._padded(self.whitening_.transform(x)))
        return x

    def _rooted(self, x):
        """The root of the entries; a new sample's negative entries keep their sign."""
        if not self.root_:
            return x
        if scipy.sparse.issparse(x):
            x = x.copy()
            x.data = np.sign(x.data) * np.sqrt(np.abs(x.data))
            return x
        return np.sign(x) * np.sqrt(np.abs(x))

    @staticmethod
    def _padded(x):
        return x if x.shape[1] else np.zeros((len(x), 1))

    def state(self):
        """What `restore` needs: a dict of numbers and a dict of arrays."""
        numbers = {
            "root": self.root,
            "rooted": self.root_,
            "n_components": self.n_components,
            "ridge": self.ridge,
            "floor": self.rows_.floor_,
            "width": self.n_features_out_,
        }
        arrays = {}
        if self.whitening_ is not None:
            numbers["whitened_floor"] = self.whitened_rows_.floor_
            for name in ("mean_", "components_", "scale_"):
                arrays[name] = getattr(self.whitening_, name)
        return numbers, arrays

    @classmethod
    def restore(cls, numbers, arrays):
        """Rebuild a fitted pipeline from its `state`."""
        pipeline = cls(numbers["root"], numbers["n_components"], numbers["ridge"])
        pipeline.root_, pipeline.n_features_out_ = numbers["rooted"], numbers["width"]
        pipeline.rows_ = RowNormalizer()
        pipeline.rows_.floor_ = numbers["floor"]
        pipeline.whitening_ = pipeline.whitened_rows_ = None
        if arrays:
            pipeline.whitening_ = Whitening(pipeline.n_components, pipeline.ridge)
            for name, value in arrays.items():
                setattr(pipeline.whitening_, name, value)
            pipeline.whitened_rows_ = RowNormalizer()
            pipeline.whitened_rows_.floor_ = numbers["whitened_floor"]
        return pipeline
