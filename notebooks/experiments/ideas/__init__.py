"""What was tried and gained nothing, runnable: subclasses of recipes and solvers."""
