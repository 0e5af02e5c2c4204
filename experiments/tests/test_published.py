"""The published numbers: complete, plausible, and consistent with each other."""

import re

import numpy as np
import pytest

from randsub_experiments import published
from randsub_experiments.cells import METHOD_LABELS
from randsub_experiments.experiments.ablation import VARIANTS

SIZES = {
    "tab:sim_comp": 4 * 2 * 5,
    "tab:sim_alphas_sum": 4 * 3 * 2,
    "tab:sim_PRS_vs_PRS_noVR": 4 * 3 * 3 * 2,
    "tab:real_perf_overall": 3 * (3 * 4 + 2),
    "tab:mnist": 8,
    "tab:dream4_aupr": 5 * 2 + 5 * 2 * 9,
}
# Printed without deviations.
UNSPREAD = ("tab:mnist", "tab:dream4_aupr")


# "0.88 $\\pm$ 0.03", either of which may be bold.
BOLD = r"(?:\{\\bf )?(-?\d+\.\d+)\}?"
FIGURE = re.compile(rf"{BOLD} \$\\pm\$ {BOLD}")


@pytest.mark.parametrize("table", [name for name in SIZES if name not in UNSPREAD])
def test_numbers_are_those_of_the_paper(table, shared_data):
    """In the order in which one reads them there, so that none is in another's place."""
    paper = shared_data.parent / "paper.txt"
    if not paper.exists():
        pytest.skip(f"the text of the paper is not in {paper.parent}")
    _, _, text = paper.read_text(encoding="utf-8").partition(f"\\label{{{table}}}")
    printed = FIGURE.findall(text.partition("\\end{table}")[0])
    numbers = published.numbers()
    ours = numbers[numbers["table"] == table]
    assert [(row.mean, row.sd) for row in ours.itertuples()] == [
        (float(mean), float(sd)) for mean, sd in printed
    ]


# "0.19", "0.969" or "5.93", which may be bold.
PLAIN = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")


@pytest.mark.parametrize("table", UNSPREAD)
def test_numbers_without_deviations_are_those_of_the_paper(table, shared_data):
    """The lines of DREAM4 have five networks' AUPR, then their sizes; MNIST has one line."""
    paper = shared_data.parent / "paper.txt"
    if not paper.exists():
        pytest.skip(f"the text of the paper is not in {paper.parent}")
    _, _, text = paper.read_text(encoding="utf-8").partition(f"\\label{{{table}}}")
    printed = [float(one) for one in PLAIN.findall(text.partition("\\end{table}")[0])]
    numbers = published.numbers()
    ours = numbers[numbers["table"] == table]["mean"].tolist()
    assert ours == printed


def test_every_table_is_complete():
    numbers = published.numbers()
    assert numbers["table"].value_counts().to_dict() == SIZES
    assert not numbers.duplicated([*published.KEYS, "table"]).any()
    assert numbers["mean"].notna().all()


def test_numbers_are_plausible():
    numbers = published.numbers()
    scores = numbers[numbers["measure"] != "size"]
    assert scores["mean"].between(-0.1, 1.0).all()
    assert (numbers["sd"].dropna() >= 0).all()
    assert set(numbers["n"].dropna()) == {10}
    simulated = numbers[numbers["experiment"].isin(["simulated", "ablation"])]
    assert simulated["sd"].notna().all()
    assert set(simulated["method"]) <= set(METHOD_LABELS)


def test_tables_that_share_numbers_agree():
    """PRS with the baseline is in two tables, and its sizes in a third."""
    keys = ["problem", "method", "base", "measure"]
    simulated = published.numbers("simulated")
    ablation = published.numbers("ablation")
    both = simulated.merge(ablation[ablation["setting"] == "paper"], on=keys)
    assert len(both) == 4 * 3 * 3
    np.testing.assert_array_equal(both["mean_x"], both["mean_y"])
    np.testing.assert_array_equal(both["sd_x"], both["sd_y"])


def test_deviations_are_of_the_values_themselves():
    """132.00 +- 24.49 is four times 102 and six times 152 with a division by ten."""
    numbers = published.numbers("simulated").set_index(["problem", "method", "base", "measure"])
    tree = numbers.loc[("friedman", "rs", "tree", "size")]
    values = [round(305 / 3)] * 4 + [round(305 / 2)] * 6
    assert np.mean(values) == tree["mean"]
    assert round(np.std(values), 2) == tree["sd"]
    assert round(np.std(values, ddof=1), 2) != tree["sd"]


def test_remarks_speak_of_settings_that_exist():
    assert set(published.remarks("ablation")) <= set(VARIANTS)
    assert published.remarks("ablation")["ESS 0.3"] == "strongly worse"


def test_missing_tables_have_no_numbers():
    missing = published.missing()
    assert len(missing) == 12
    assert not set(missing["table"]) & set(published.numbers()["table"])


@pytest.mark.parametrize("experiment", ["simulated", "mnist"])
def test_numbers_of_one_experiment(experiment):
    assert set(published.numbers(experiment)["experiment"]) == {experiment}
