"""The runs behind the book's tables and figures: listed, made, stored, compared and drawn.

:mod:`~experiments.studies` lists all variants, :mod:`~experiments.plan` puts their runs in order,
:mod:`~experiments.run` makes one, :mod:`~experiments.store` keeps it, :mod:`~experiments.records`
reads them as tables, and a notebook asks for its own through :class:`experiments.page.Page`. The
estimator needs nothing from here.
"""
