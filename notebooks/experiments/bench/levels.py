"""Whole fits of three levels and of two, in turn on the same generated views, with one thread."""

import functools
import itertools

from dmac.recipes import CLOSED_FORM, CLOSED_FORM_0_2
from experiments.bench.baselines import SIZES, agc, fit_generated
from experiments.bench.measuring import Job, alone
from experiments.studies import CLOSED, DEFAULT

#: By what tables call them.
RECIPES = {CLOSED: CLOSED_FORM_0_2, DEFAULT: CLOSED_FORM}
#: Fits of each: a turn is one of both, one after the other.
TURNS = 3


def jobs(*_, sizes=SIZES, turns=TURNS):
    one = dict(threads=1, environment={"DMAC_NUM_THREADS": "1"})
    for n, turn, (name, recipe) in itertools.product(sizes, range(turns), RECIPES.items()):
        about = {"recipe": name, "n": n, "turn": turn}
        yield Job("fits", about, alone, fit_generated, functools.partial(agc, recipe), n, **one)
