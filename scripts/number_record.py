"""A small Sphinx extension: the pages of the record are numbered R1, R2, ..., not as chapters.

Figures and tables of pages without a number are A1, A2, ..., so that none looks like a chapter's.
"""

from docutils import nodes

RECORD = "book/record"


def lettered(number):
    """(20, 3, 1), a section of the third page below chapter 20, as ("R3", 1)."""
    return (f"R{number[1]}", *number[2:]) if number and len(number) > 1 else None


def renumber(app, env):
    """Rewrite the numbers that Sphinx has just given; return the pages that have them."""
    pages = env.toctree_includes.get(RECORD, [])
    for name in (RECORD, *pages):
        for anchor, number in env.toc_secnumbers[name].items():
            env.toc_secnumbers[name][anchor] = lettered(number)
        for one in (env.titles[name], *env.tocs[name].findall(nodes.reference)):
            one["secnumber"] = lettered(one.get("secnumber"))
        if name in pages:  # figures and the like are counted on each page
            letter = f"R{pages.index(name) + 1}"
            for numbers in env.toc_fignumbers.get(name, {}).values():
                numbers |= {key: (letter, i) for i, key in enumerate(numbers, 1)}
    plain = []
    for name, kinds in env.toc_fignumbers.items():
        for numbers in kinds.values():
            alone = {key: (f"A{n[0]}",) for key, n in numbers.items() if len(n) == 1}
            numbers |= alone
            plain += [name] * bool(alone)
    return [RECORD, *pages, *plain]


def setup(app):
    app.connect("env-get-updated", renumber, priority=900)  # after Sphinx's own numbers
    return {"parallel_read_safe": True, "parallel_write_safe": True}
