"""Clustering that trains nothing, one idea a file, in the order in which a fit needs them.

Blocks of features, anchor sets in each block, their averaged graph, votes on it, the support of the
views; what fills in views that samples lack; the solver that fits, and the model that it leaves.
Chapter 12 of the book derives all of it.
"""
