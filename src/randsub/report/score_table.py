"""The table of scores, and how to read it."""

import numpy as np

from randsub.report.markup import Markup, fill, join, tag
from randsub.report.model_comparison import Comparison, Contender
from randsub.report.text_format import counted, number, score, seconds, signed


def score_table(comparison: Comparison) -> list[Markup | None]:
    """The table of contenders with its explanation."""
    heads = ["Model", comparison.metric, "", comparison.other_metric]
    if len(comparison.contenders) > 1:
        heads += ["Lead of this model", "Time"]
    table = fill(
        "scores.html",
        rows_explained=_which_rows(comparison),
        metric=comparison.metric,
        heads=join(tag("th", head, scope="col") for head in heads),
        rows=join(_row(contender, comparison) for contender in comparison.contenders),
    )
    return [table, *(tag("p", sentence, class_="aside") for sentence in comparison.left_out)]


def _which_rows(comparison: Comparison) -> str:
    new = counted(comparison.n_test, "row")
    if comparison.n_train is None:
        return f"Measured on {new} that were given as new to the model."
    old = counted(comparison.n_train, "row")
    if comparison.is_refit:
        return (
            f"No new rows were given, so a part of the training rows was set aside: a copy of this "
            f"model, with the same parameters, was trained on {old} and scored on the other {new}. "
            "The copy has seen fewer rows than the model itself; all other parts of this page are "
            "about the model itself."
        )
    return f"All models were trained on the same {old} and scored on the same {new}, new to all."


def _row(contender: Contender, comparison: Comparison) -> Markup:
    value, (low, high) = score(contender.score), contender.interval
    drawn = tag(
        "span",
        tag("i", style=f"--v:{_share(contender.score)}"),
        tag("u", style=f"--a:{_share(low)};--b:{_share(high)}"),
        class_="bar",
        role="img",
        aria_label=f"{comparison.metric} {value}, interval {score(low)} to {score(high)}",
    )
    is_share = comparison.other_metric == "Balanced accuracy"
    other = score(contender.other_score) if is_share else number(contender.other_score, 4)
    cells = [
        tag("th", contender.name, scope="row"),
        _cell(comparison.metric, _with_interval(value, score(low), score(high))),
        tag("td", drawn, class_="drawn"),
        _cell(comparison.other_metric, other),
    ]
    if len(comparison.contenders) > 1:
        lead = "" if contender.lead is None else _with_interval(*map(signed, contender.lead))
        time = "" if contender.seconds is None else seconds(contender.seconds)
        cells += [_cell("Lead", lead), _cell("Time", time)]
    return tag("tr", *cells, class_="self" if contender.key == "model" else None)


def _with_interval(value: str, low: str, high: str) -> Markup:
    return tag("span", value, " ", tag("span", f"({low} to {high})", class_="of"))


def _cell(label: str, value: str) -> Markup:
    # On a narrow screen each cell is a line behind its label.
    return tag("td", value, class_="num", data_label=label)


def _share(value: float) -> str:
    return f"{np.clip(value, 0.0, 1.0):.4f}" if np.isfinite(value) else "0"
