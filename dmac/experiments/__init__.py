"""The runs behind the book's tables and figures: listed, made, stored, compared and drawn.

:mod:`~dmac.experiments.plan` lists every run, :mod:`~dmac.experiments.run` makes one,
:mod:`~dmac.experiments.store` keeps it, :mod:`~dmac.experiments.records` reads them as tables, and
a notebook asks for its own through :class:`dmac.experiments.page.Page`. The estimator needs nothing
from here.
"""
