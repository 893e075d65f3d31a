"""What things cost: epochs, their parts, whole fits, growth; and a device.

    python -m experiments.bench PART [--device DEVICE] [--budget SECONDS] [--results FOLDER]

``make bench`` measures all parts but "lacking", "rare groups", "cluster" (a hundred million
samples) and "device", on a machine that does nothing else: what is timed has a process of its own
(:mod:`experiments.harness`), or a Dask cluster, one after the other. ``make gpu`` measures "device"
within nine minutes: the tests of a GPU, epochs, whole fits and scores; it needs no installation and
no network, neither pandas nor matplotlib, and without a GPU it does the same on small sizes. Every
epoch there ends with numbers that are read from the device, so nothing is left in its queue.

Each part is a module with a function ``jobs``, and a file ``bench-PART.jsonl`` of the store of
runs, to which every measurement is added when it is made (:mod:`experiments.bench.measuring`). A
command that was stopped, or whose budget was spent, goes on where it was. To have something
measured again, delete its line.
"""
