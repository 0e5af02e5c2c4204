"""Tables as text."""

import numpy as np
import pandas as pd

from randsub_experiments.result_table import Table, plain, spread


def test_numbers():
    assert plain(0.12345, 3) == "0.123"
    assert plain(-0.0001, 2, "+") == "+0.00"
    assert plain(1234567.0, 0) == "1,234,567"
    assert plain(np.nan, 2) == plain(None, 2) == plain(np.inf, 2) == ""
    assert spread(0.5, 0.25, 2) == "0.50 ± 0.25"
    assert spread(0.5, np.nan, 2) == "0.50"
    assert spread(np.nan, np.nan, 2) == ""


def test_three_forms():
    frame = pd.DataFrame({"name": ["a", "longer"], "value": [0.1, np.nan]})
    columns = {"who": lambda row: row.name, "how much": lambda row: plain(row.value, 2)}
    table = Table("t", "A title", frame, columns, "A note.")
    assert table.csv() == "name,value\na,0.1\nlonger,\n"
    assert table.markdown() == (
        "**A title**\n\n| who | how much |\n| --- | --- |\n| a | 0.10 |\n| longer |  |\n\nA note.\n"
    )
    assert table.text().splitlines() == [
        "A title",
        "----------------",
        "who     how much",
        "----------------",
        "a           0.10",
        "longer",
        "----------------",
        "A note.",
    ]
