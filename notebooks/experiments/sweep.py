"""Make the runs that a store lacks: in parallel, stopped at any time, never one twice."""

import time


def fill(store, runs, make, *, n_jobs=1, before=None, done=None, patience=1.0):
    """Make the runs that a store lacks, each by one process only, and append them.

    Runs that another process is making are left to it, and looked at again at the end: what it
    did not finish is made here.

    Parameters
    ----------
    store : experiments.store.Store
    runs : list of (dict, str, object)
        Identity, file in the store, and what ``make`` is called with. A run listed twice is made
        once.
    make : callable
        Returns the rest of the record. It runs in joblib's processes unless ``n_jobs`` is 1, and
        on a cluster where joblib is told so (``with joblib.parallel_config("dask")``); only the
        calling process touches the store.
    n_jobs : int
        As in joblib.
    before : callable, optional
        ``before(key, made)`` is called in this process with what ``make`` returned, and returns
        what goes into the record.
    done : callable, optional
        ``done(key)`` says whether a run can be left out; by default whether the store has it.
    patience : float
        Seconds between two looks at what others are making.

    Yields
    ------
    dict
        The record of every run made here, as it finishes.
    """
    by_key = {}
    for run in runs:
        by_key.setdefault(store.key(run[0]), run)
    before, claims = before or (lambda key, made: made), {}

    def is_done(key):
        return key in store.refresh() if done is None else done(key)

    def claim_all(keys, busy):
        for key in keys:
            claim = store.claim(key)
            if claim is None:
                busy.append(key)
            elif is_done(key):
                claim.release()
            else:
                claims[key] = claim
                yield key

    open_keys = list(by_key)
    try:
        while open_keys := [key for key in open_keys if not is_done(key)]:
            busy = []
            for key, made in _make_all(claim_all(open_keys, busy), by_key, make, n_jobs):
                identity, file, _ = by_key[key]
                store.append(identity | before(key, made), file)
                claims.pop(key).release()
                yield store.get(key)
            open_keys = busy
            if busy:
                time.sleep(patience)
    finally:
        for claim in claims.values():
            claim.release()


def _make_all(keys, by_key, make, n_jobs):
    if n_jobs == 1:
        return ((key, make(by_key[key][2])) for key in keys)
    from joblib import Parallel, delayed

    # Claimed one by one as workers become free, so that several processes share a list.
    parallel = Parallel(
        n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
    )
    return parallel(delayed(_make_one)(key, make, by_key[key][2]) for key in keys)


def _make_one(key, make, what):
    return key, make(what)
