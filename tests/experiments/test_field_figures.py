"""The map of the ten systems."""

import matplotlib.pyplot as plt

from dmac.experiments import field_figures, paper


def test_the_map_has_every_system_of_the_paper_in_its_cell():
    (axis,) = field_figures.plot_map().axes
    texts = {text.get_position(): text for text in axis.texts}
    systems = [name for names in field_figures.SYSTEMS.values() for name in names]
    assert sorted(systems) == sorted(paper.TABLE_2)
    assert texts[1, 2].get_text() == "DMAC" and texts[1, 2].get_weight() == "bold"
    assert texts[1, 1].get_text().split("\n") == ["LMVSC", "MSGL", "UDBGL"]
    assert [label.get_text() for label in axis.get_yticklabels()][2] == "a network"
    grey = {at for at, text in texts.items() if text.get_color() != "black"}
    assert grey == {(1, 0), (2, 0)}
    plt.close("all")
