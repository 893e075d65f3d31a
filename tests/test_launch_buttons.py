"""Links to the project, Binder and Colab are there where _config.yml has an address."""

from types import SimpleNamespace

import launch_buttons
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
