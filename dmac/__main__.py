"""``python -m dmac``: the command line, :mod:`dmac.command_line`."""

from dmac.command_line import main

if __name__ == "__main__":
    main()
