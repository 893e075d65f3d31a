"""A small Sphinx extension: two pages are executed at a time, while Sphinx reads one by one."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from myst_nb.core.execute import direct
from myst_nb.core.read import create_nb_reader

#: Pages at a time: their kernels are processes of one thread each.
AT_ONCE = 2


def code(notebook):
    """The code of a notebook, by which its execution is found."""
    return tuple(cell.source for cell in notebook.cells if cell.cell_type == "code")


def begin(app, env, names, execute=direct.single_nb_execution):
    """Start to execute the pages in the order of their reading, and let MyST-NB wait for each."""
    config, pool, started = env.mystnb_config, ThreadPoolExecutor(AT_ONCE), {}
    for path in (Path(env.doc2path(name)) for name in names):
        text = path.read_text(encoding="utf-8")
        reader = create_nb_reader(str(path), env.myst_config, config, text)
        if reader and not any(path.match(one) for one in config.execution_excludepatterns):
            notebook = reader.read(text)
            started[code(notebook)] = pool.submit(
                execute,
                notebook,
                cwd=str(path.parent),
                timeout=config.execution_timeout,
                allow_errors=config.execution_allow_errors,
            )

    def executed(notebook, **settings):
        result = started.pop(code(notebook)).result()
        notebook.update(result.nb)
        return result

    direct.single_nb_execution = executed
    pool.shutdown(wait=False)


def setup(app):
    app.connect("env-before-read-docs", begin)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
