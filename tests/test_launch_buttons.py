"""Links to the project, Binder and Colab are there where _config.yml has an address."""

from types import SimpleNamespace

import launch_buttons
import nbformat
import pytest

URL = "https://example.org/someone/book"


@pytest.mark.parametrize(
    "config, address", [("title: x", None), (f"repository: {{url: {URL}}}", URL)]
)
def test_what_is_published_is_linked_and_nothing_else_is(tmp_path, config, address):
    (tmp_path / "_config.yml").write_text(config)
    app = SimpleNamespace(
        srcdir=tmp_path, env=SimpleNamespace(doc2path=lambda name: tmp_path / f"{name}.ipynb")
    )
    said = SimpleNamespace(myst_substitutions={"other": "kept"})
    launch_buttons.say_where(app, said)
    assert said.myst_substitutions["other"] == "kept"
    assert (URL in said.myst_substitutions["repository"]) == bool(address)
    buttons = [{"url": f"{URL}/book/experiments/01_comparison.ipynb"}]
    context = {"header_buttons": [{"label": "launch-buttons", "buttons": buttons}]}
    launch_buttons.lead_to_source(app, "book/experiments/01_comparison", "", context, None)
    if address:
        assert buttons[0]["url"] == f"{URL}/notebooks/01_comparison.ipynb"
    assert len(context["header_buttons"]) == bool(address)


@pytest.mark.parametrize(
    "code, has", [("import dmac", True), ("from experiments import run", False)]
)
def test_a_page_that_needs_the_project_has_no_download(tmp_path, code, has):
    executed = tmp_path / "jupyter_execute" / "page.ipynb"
    executed.parent.mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), executed)
    group = {"buttons": [{"text": ".md", "url": "_sources/page.md"}, {"text": ".pdf"}]}
    app = SimpleNamespace(outdir=tmp_path / "html")
    launch_buttons.lead_to_notebook(app, "page", "", {"header_buttons": [group]}, None)
    links = [button.get("url") for button in group["buttons"]]
    assert links == ["_sources/page.ipynb"] * has + [None]


def test_an_old_address_leads_to_the_new_one(tmp_path):
    (tmp_path / "book").mkdir()
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html"))
    launch_buttons.forward(app, None)
    for old, new in launch_buttons.MOVED.items():
        assert f'href="{new}.html"' in (tmp_path / "book" / f"{old}.html").read_text("utf-8")
        assert list((launch_buttons.Path(__file__).parents[1] / "book").glob(f"{new}.*"))
