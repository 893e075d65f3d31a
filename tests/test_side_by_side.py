"""Two pages are executed at a time, and each finds its own outputs."""

import threading
from types import SimpleNamespace

import nbformat
import side_by_side
from myst_nb.core.config import NbParserConfig
from myst_nb.core.execute import direct
from myst_parser.config.main import MdParserConfig


def test_pages_are_executed_at_once_and_each_gets_its_outputs(tmp_path, monkeypatch):
    together = threading.Barrier(2, timeout=60)

    def execute(notebook, **settings):
        together.wait()
        (cell,) = notebook.cells
        cell.outputs = [nbformat.v4.new_output("stream", text=cell.source)]
        return SimpleNamespace(nb=notebook, **settings)

    monkeypatch.setattr(direct, "single_nb_execution", None)
    new = nbformat.v4
    pages = {name: new.new_notebook(cells=[new.new_code_cell(name)]) for name in ("a", "b", "made")}
    for name, page in pages.items():
        nbformat.write(page, tmp_path / f"{name}.ipynb")
    env = SimpleNamespace(
        myst_config=MdParserConfig(),
        mystnb_config=NbParserConfig(execution_excludepatterns=["made.*"], execution_timeout=7),
        doc2path=lambda name: str(tmp_path / f"{name}.ipynb"),
    )
    side_by_side.begin(None, env, list(pages), execute)
    for name in ("b", "a"):
        result = direct.single_nb_execution(pages[name], cwd=None)
        assert pages[name].cells[0].outputs[0].text == name
        assert result.cwd == str(tmp_path) and result.timeout == 7
