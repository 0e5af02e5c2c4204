"""The parts of the page, each from what it shows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from randsub.ensemble.subspace import SubspaceEnsemble
from randsub.report.charts import LineChart, histogram
from randsub.report.comparison import Comparison, Contender
from randsub.report.importances import Column, Importances
from randsub.report.markup import Markup, join, tag
from randsub.report.notices import Notice
from randsub.report.stability import StabilityView
from randsub.report.wording import counted, listed, number, score, seconds, signed

# Features in the chart, and rows of the table before the script takes it over.
N_BARS = 20
N_ROWS = 25


def section(identifier: str, title: str, *content: Markup | None) -> Markup:
    """A part of the page under a heading."""
    heading = tag("h2", title, id=f"{identifier}-title")
    return tag("section", heading, *content, id=identifier, aria_labelledby=f"{identifier}-title")


def figures(entries: Sequence[tuple[str, str]]) -> Markup:
    """The few numbers that come first, each with what it is."""
    return tag(
        "ul", *(tag("li", tag("b", value), tag("span", name)) for value, name in entries),
        class_="figures",
    )  # fmt: skip


def notice_list(found: Sequence[Notice], unchecked: Sequence[str]) -> Markup:
    """What to know before trusting the results; what could not be checked comes last."""
    kinds = {"warning": "Warning", "note": "Note"}
    items = [
        tag(
            "li",
            tag("span", kinds[notice.level], class_="kind"),
            tag("b", notice.title),
            tag("p", notice.explanation),
            class_=notice.level,
        )
        for notice in found
    ]
    if not any(notice.level == "warning" for notice in found):
        items.insert(
            0,
            tag(
                "li",
                tag("span", "Good", class_="kind"),
                tag("b", "No warning"),
                tag("p", "None of the checks that could be made puts the results in doubt."),
                class_="good",
            ),
        )
    missing = tag("p", " ".join(unchecked), class_="aside") if unchecked else None
    return join([tag("ul", *items, class_="notices"), missing])


def scores(comparison: Comparison) -> Markup:
    """The table of contenders, and how to read it."""
    metric, other = comparison.metric, comparison.other_metric
    with_rivals = len(comparison.contenders) > 1
    heads = ["Model", metric, "", other]
    if with_rivals:
        heads += ["Lead of this model", "Time"]
    head = tag("tr", *(tag("th", name, scope="col", class_=_head_class(name)) for name in heads))
    rows = [_score_row(contender, comparison) for contender in comparison.contenders]
    table = tag(
        "table", tag("caption", f"{metric} on new rows", class_="hidden"),
        tag("thead", head), tag("tbody", *rows), class_="scores",
    )  # fmt: skip
    left_out = [tag("p", sentence, class_="aside") for sentence in comparison.left_out]
    return join(
        [
            tag("p", _which_rows(comparison)),
            tag("div", tag("div", table, class_="scroll"), class_="card"),
            tag(
                "p",
                "In brackets: 95 % intervals, from drawing the new rows again, a thousand times. "
                "They tell of chance in these rows, not in training. The lead is measured on the same "
                "draws; an interval that holds 0 means that the two cannot be told apart. "
                f"{_rivals_explained(comparison)}",
                class_="aside",
            ),
            *left_out,
        ]
    )


def _head_class(name: str) -> str | None:
    return None if name in ("Model", "") else "num"


def _rivals_explained(comparison: Comparison) -> str:
    said = []
    if comparison.find("subspace") is not None:
        said.append(
            "The plain random subspace has as many members of the same base model, on features "
            "chosen by chance; how many features is chosen on a validation part."
        )
    if comparison.find("single") is not None:
        said.append("Both it and the base model alone are scaled as this model is.")
    return " ".join(said)


def _which_rows(comparison: Comparison) -> str:
    new = counted(comparison.n_test, "row")
    if comparison.n_train is None:
        return (
            f"Measured on {new} that the model was not trained on, as whoever made this page says."
        )
    old = counted(comparison.n_train, "row")
    if comparison.is_refit:
        return (
            f"No new rows were given, so a part of the training rows was set aside: a copy of this "
            f"model, with the same parameters, was trained on {old} and asked about the {new} "
            "left. The copy saw fewer rows than the model itself; all other parts of this page are "
            "about the model itself."
        )
    return (
        f"Every model was trained on the same {old} and asked about the same {new}, which none of "
        "them had met."
    )


def _score_row(contender: Contender, comparison: Comparison) -> Markup:
    low, high = contender.interval
    drawn = tag(
        "span",
        tag("i", style=f"--v:{_share(contender.score)}"),
        tag("u", style=f"--a:{_share(low)};--b:{_share(high)}"),
        class_="bar",
        role="img",
        aria_label=f"{comparison.metric} {score(contender.score)}, "
        f"interval {score(low)} to {score(high)}",
    )
    cells = [
        tag("th", contender.name, scope="row"),
        _labelled(comparison.metric, _with_span(score(contender.score), score(low), score(high))),
        tag("td", drawn, class_="drawn"),
        _labelled(comparison.other_metric, _other(contender, comparison)),
    ]
    if len(comparison.contenders) > 1:
        lead = ""
        if contender.lead is not None:
            value, low, high = contender.lead
            lead = _with_span(signed(value), signed(low), signed(high))
        time = "" if contender.seconds is None else seconds(contender.seconds)
        cells += [_labelled("Lead of this model", lead), _labelled("Time", time)]
    return tag("tr", *cells, class_="self" if contender.key == "model" else None)


def _with_span(value: str, low: str, high: str) -> Markup:
    return tag("span", value, " ", tag("span", f"({low} to {high})", class_="of"))


def _labelled(label: str, value: str) -> Markup | None:
    # On a narrow screen each cell stands on a line of its own, behind its label.
    return tag("td", value, class_="num", data_label=label)


def _other(contender: Contender, comparison: Comparison) -> str:
    is_share = comparison.other_metric == "Balanced accuracy"
    return score(contender.other_score) if is_share else number(contender.other_score, 4)


def _share(value: float) -> str:
    return f"{min(max(value, 0.0), 1.0):.4f}" if np.isfinite(value) else "0"


def n_bars(found: Importances) -> int:
    """How many features are worth a bar: those that can be seen beside the highest."""
    visible = int((found.alpha >= 0.01 * found.alpha.max()).sum())
    return min(max(visible, 5), N_BARS, len(found.names))


def importance_bars(found: Importances) -> Markup:
    """The most important features as bars."""
    shown = found.order[: n_bars(found)]
    bars = [
        tag(
            "li",
            tag("span", found.names[j], class_="name", title=found.names[j]),
            tag("span", tag("i", style=f"--v:{found.alpha[j]:.4f}"), class_="track"),
            tag("span", f"{found.alpha[j]:.3f}", class_="value"),
            title=f"{found.names[j]}: alpha {found.alpha[j]:.3f}, "
            f"seen by {counted(int(found.held[j]), 'member')}",
        )
        for j in shown
    ]
    return tag("div", tag("ol", *bars, class_="bars"), class_="card")


def feature_table(found: Importances) -> Markup:
    """The table of features: its first rows here, the others come from the data of the page."""
    head = tag(
        "tr",
        *(
            tag("th", c.label, scope="col", class_=None if c.kind == "name" else "num")
            for c in found.columns
        ),
    )
    rows = [
        tag("tr", *(_cell(column, place) for column in found.columns))
        for place in range(min(N_ROWS, len(found.names)))
    ]
    table = tag(
        "table", tag("caption", "Features by importance", class_="hidden"),
        tag("thead", head), tag("tbody", *rows), id="features",
    )  # fmt: skip
    sizes = [tag("option", str(size), value=size) for size in (25, 100, 500)]
    tools = tag(
        "div",
        tag(
            "input", type="search", id="features-search", placeholder="Search features",
            aria_label="Search features", autocomplete="off", spellcheck="false",
        ),
        tag("label", "Rows", tag("select", *sizes, id="features-size")),
        tag("button", "Save as CSV", type="button", id="features-save"),
        class_="tools",
        hidden=True,
    )  # fmt: skip
    pages = tag(
        "div",
        tag("span", _first_status(found), id="features-status", role="status", aria_live="polite"),
        tag(
            "div",
            tag("button", "Previous", type="button", id="features-previous"),
            tag("button", "Next", type="button", id="features-next"),
            hidden=True,
        ),
        class_="pages",
    )
    terms = [
        tag("li", tag("b", f"{column.label}: "), column.explanation)
        for column in found.columns
        if column.key not in ("rank", "name")
    ]
    explained = tag("details", tag("summary", "What the columns mean"), tag("ul", *terms))
    scrolled = tag(
        "div", table, class_="scroll", tabindex="0", role="region", aria_label="Features"
    )
    return tag("div", tools, scrolled, pages, explained, class_="card")


def _first_status(found: Importances) -> str:
    n = len(found.names)
    return f"1 to {min(N_ROWS, n):,} of {n:,}"


def _cell(column: Column, place: int) -> Markup:
    value = column.values[place]
    if column.kind == "name":
        return tag("td", tag("span", value, title=value), class_="name")
    if value is None:
        return tag("td", "none", class_="num")
    if column.kind == "count":
        return tag("td", f"{value:,}", class_="num")
    meter = None
    if column.kind == "probability":
        meter = tag("span", tag("i", style=f"--v:{value}"), class_="meter", aria_hidden="true")
    return tag("td", meter, f"{value:.3f}", class_="num")


def table_data(found: Importances) -> dict[str, Any]:
    """All rows of the table of features, column by column."""
    return {
        "columns": [
            {"key": c.key, "label": c.label, "kind": c.kind, "explanation": c.explanation}
            for c in found.columns
        ],
        "values": [list(column.values) for column in found.columns],
    }


def stability_words(view: StabilityView) -> Markup:
    """What the reruns say of the selection as a whole."""
    often = view.often_selected()
    said = (
        f"Selected in at least {view.OFTEN:.0%} of the reruns: {listed(often, 12)}."
        if often
        else f"No feature was selected in {view.OFTEN:.0%} of the reruns or more."
    )
    return join(
        [
            tag("p", view.explanation()),
            figures(view.figures()),
            tag("p", said),
        ]
    )


def members(model: SubspaceEnsemble) -> Markup:
    """How many features the members of the ensemble see."""
    sizes = np.array([len(features) for features in model.estimators_features_])
    summary = (
        f"{counted(len(sizes), 'member')} see {number(float(sizes.mean()))} features on average, "
        f"from {sizes.min():,} to {sizes.max():,}."
    )
    title = f"Features that each of the {len(sizes):,} members sees"
    return join([histogram(title, summary, sizes, "features"), tag("p", summary, class_="aside")])


def training(charts: Sequence[LineChart], remark: str) -> Markup:
    """How training went."""
    drawn = [chart.draw() for chart in charts]
    return join([tag("p", remark), tag("div", *drawn, class_="charts") if drawn else None])


def pairs(entries: Mapping[str, str], caption: str) -> Markup:
    """Names and values."""
    rows = [
        tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in entries.items()
    ]
    return tag(
        "table", tag("caption", caption, class_="hidden"), tag("tbody", *rows), class_="pairs"
    )


def code_block(label: str, code: str) -> Markup:
    """Something to copy."""
    # Line breaks must stay, which text of a page does not keep.
    lines = join([join([line]) for line in code.split("\n")], "\n")
    return tag("div", tag("pre", tag("code", lines), tabindex="0", aria_label=label), class_="code")
