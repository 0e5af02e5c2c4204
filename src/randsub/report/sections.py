"""The sections of the page, each made from the findings."""

from collections.abc import Iterable, Mapping, Sequence
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from randsub._tables import frame_kind
from randsub.estimators.assembly import has_repeats
from randsub.estimators.base import SubspaceEnsemble
from randsub.estimators.fit_data import engine_name
from randsub.estimators.named_bases import bases_of
from randsub.estimators.prs import BasePRS
from randsub.losses import METRICS
from randsub.report import refit_code
from randsub.report.diagnostics import Notice, notices
from randsub.report.feature_table import COLUMNS, feature_names
from randsub.report.findings import Findings
from randsub.report.labelled_rows import Rows
from randsub.report.markup import Markup, fill, join, tag
from randsub.report.score_table import score_table
from randsub.report.text_format import counted, listed, number, score

# Maximum number of features with a bar, and of rows in the table before the script pages it.
N_BARS = 20
N_ROWS = 25
# Number of features whose alphas are shown for each of several base models.
N_BY_BASE = 10
# Share of the runs from which a feature is listed as selected.
OFTEN = 0.8

Section = list[Markup | None]


class Words(NamedTuple):
    """What the section on stability says of the runs that it is about."""

    name: str
    counted: str
    origin: str
    caution: str


RUNS = {
    "subsamples": Words(
        "reruns",
        "reruns on parts of the rows",
        "The model was trained again on parts of the rows, with other seeds.",
        "on fewer rows alpha varies more.",
    ),
    "repeats": Words(
        "repeats",
        "repeats with different validation rows",
        "Alpha was optimised several times, each time with other validation rows; the model uses "
        "all of these repeats.",
        "repeats share most of their rows, and with new rows alpha would vary more.",
    ),
}


def summary(findings: Findings) -> Section:
    """Key figures, and the results of the checks."""
    model, comparison, table = findings.model, findings.comparison, findings.features
    n_features = counted(model.n_features_in_, "feature")
    entries = {}
    if comparison is not None:
        new = counted(comparison.n_test, "new row")
        entries[f"{comparison.metric} on {new}"] = score(comparison.model.score)
    if isinstance(model, BasePRS):
        entries[_validation_label(model)] = score(model.validation_score_)
    entries[f"of {n_features} seen by a member, on average"] = number(float(model.expected_size_))
    if table is not None:
        likely = int((table["alpha"] >= 0.5).sum())
        entries["seen by more than half of the members (alpha ≥ 0.5)"] = f"{likely:,}"
    entries["base models trained in total"] = f"{model.n_models_trained_:,}"
    found = notices(findings)
    if not any(level == "warning" for level, _, _ in found):
        found.insert(0, Notice("good", "No warning", "No check puts the results in doubt."))
    items = (
        tag("li", tag("span", level, class_="kind"), tag("b", title), tag("p", said), class_=level)
        for level, title, said in found
    )
    return [_figures(entries), tag("ul", *items, class_="notices")]


def _validation_label(model: BasePRS) -> str:
    """What the score of the fit itself is, and how much it varies."""
    rows = "validation rows" if model.validation_fraction is not None else "held-out rows"
    label = f"{METRICS[model._task]} on {rows}, on which alpha was chosen".replace("R2", "R²")
    if has_repeats(model):
        label += f" (± {number(float(model.validation_scores_.std()), 2)} over repeats)"
    return label[0].upper() + label[1:]


def _figures(entries: Mapping[str, str]) -> Markup:
    items = (tag("li", tag("b", value), tag("span", name)) for name, value in entries.items())
    return tag("ul", *items, class_="figures")


def scores(findings: Findings) -> Section:
    """Scores beside those of reference models."""
    if findings.comparison is not None:
        return score_table(findings.comparison)
    said = (
        "No rows were given to score the model on, or no comparison was asked for. To compare it "
        "with a random forest on new rows, give X, y, X_test and y_test."
    )
    model, fitted = findings.model, None
    if isinstance(model, BasePRS):
        fitted = (
            f"{_validation_label(model)}: {score(model.validation_score_)}. It is slightly "
            f"optimistic, since the epoch was chosen on the same rows. The validation loss is "
            f"{number(model.validation_loss_, 4)}."
        )
    return [tag("p", said), tag("p", fitted) if fitted else None]


def importances(findings: Findings) -> Section:
    """The most important features as bars, and all of them in a table."""
    table = findings.features
    if table is None:
        said = "chooses the features of its members at random: it has no importances."
        return [tag("p", f"{type(findings.model).__name__} {said}")]
    top = table["name"][table["alpha"] > 0.0][:5].tolist()
    said = (
        f"Alpha is the probability with which a member sees a feature. Highest: {listed(top)}."
        if top
        else "No feature is ever seen by a member: every alpha is 0."
    )
    # Features whose bar can be seen beside the longest one.
    visible = int((table["alpha"] >= 0.01 * table["alpha"].max()).sum())
    shown = table[: min(max(visible, 5), N_BARS)]
    return [
        tag("p", said),
        tag("h3", f"The first {len(shown)}" if len(shown) < len(table) else "Alpha"),
        tag("div", tag("ol", *map(_bar, shown.itertuples()), class_="bars"), class_="card"),
        tag("h3", f"All {counted(len(table), 'feature')}"),
        _feature_table(table),
    ]


def _bar(feature: Any) -> Markup:
    seen, alpha = counted(int(feature.held), "member"), f"{feature.alpha:.3f}"
    if hasattr(feature, "std"):
        alpha += f" ± {feature.std:.3f}"
    return tag(
        "li",
        tag("span", feature.name, class_="name", title=feature.name),
        tag("span", tag("i", style=f"--v:{feature.alpha:.4f}"), class_="track"),
        tag("span", f"{feature.alpha:.3f}", class_="value"),
        title=f"{feature.name}: alpha {alpha}, seen by {seen}",
    )


def _feature_table(table: pd.DataFrame) -> Markup:
    """The first rows; the script of the page shows the others."""
    columns = {key: COLUMNS[key] for key in map(str, table)}
    heads = (
        tag("th", c.label, scope="col", class_=None if c.kind == "name" else "num")
        for c in columns.values()
    )
    first = table[:N_ROWS].to_dict("records")
    rows = (tag("tr", *(_cell(columns[key].kind, row[key]) for key in columns)) for row in first)
    terms = (tag("li", tag("b", f"{c.label}: "), c.explanation) for c in columns.values())
    parts = {"head": join(heads), "rows": join(rows), "terms": join(terms)}
    return fill("features.html", status=f"1 to {len(first):,} of {len(table):,}", **parts)


def _cell(kind: str, value: Any) -> Markup:
    if kind == "name":
        return tag("td", tag("span", value, title=value), class_="name")
    if not np.isfinite(value):
        return tag("td", "none", class_="num")
    if kind == "count":
        return tag("td", f"{value:,}", class_="num")
    return tag("td", f"{value:.3f}", class_="num")


def base_models(findings: Findings) -> Section:
    """Share of each of several base models, and the features that each of them sees."""
    model, table = findings.model, findings.features
    if not hasattr(model, "shares_") or table is None:
        return []
    shares, kept = model.shares_, [name for name, share in model.shares_.items() if share > 0.0]
    summary = (
        f"Predictions are weighted means over {counted(len(shares), 'base model')}. The weights, "
        "their shares, were learned along with alpha"
    )
    largest = [name for name, share in shares.items() if share == max(shares.values())]
    summary += f": {largest[0]} has the largest." if len(largest) == 1 else "."
    if len(kept) < len(shares):
        dropped = listed([name for name in shares if name not in kept])
        summary += f" Dropped during training: {dropped}."
    bases = zip(bases_of(model.estimator_).items(), model._engines, strict=True)
    rows = [
        [
            tag("th", name, scope="row"),
            _cell("probability", shares[name]),
            _cell("count", model.estimators_bases_.count(name)),
            tag("td", refit_code.constructor(base)),
            tag("td", engine_name(type(engine))),
        ]
        for (name, base), engine in bases
    ]
    first = table[:N_BY_BASE]
    alphas = [model.alphas_[name].mean(axis=0) for name in kept]
    features = [
        [
            _cell("name", feature.name),
            *(_cell("probability", alpha[feature.Index]) for alpha in alphas),
        ]
        for feature in first.itertuples()
    ]
    return [
        tag("p", summary),
        _grid("Base models", ["Name", "Share", "Members", "Base model", "Engine"], rows),
        tag("h3", f"Alpha of each base model for the first {counted(len(first), 'feature')}"),
        _grid("Alpha by base model", ["Feature", *kept], features),
    ]


def _grid(caption: str, heads: Sequence[str], rows: Iterable[Iterable[Markup]]) -> Markup:
    """A table; columns whose cells are numbers have their heads on the right, too."""
    rows = [[*row] for row in rows]
    head = (
        tag("th", text, scope="col", class_="num" if 'class="num"' in cell else None)
        for text, cell in zip(heads, rows[0], strict=True)
    )
    inside = (
        tag("caption", caption, class_="hidden"),
        tag("thead", tag("tr", *head)),
        tag("tbody", *(tag("tr", *row) for row in rows)),
    )
    table = tag("table", *inside)
    region = {"class_": "scroll", "tabindex": "0", "role": "region", "aria_label": caption}
    return tag("div", tag("div", table, **region), class_="card")


def stability(findings: Findings) -> Section:
    """What the runs say of the selection as a whole."""
    result = findings.stability
    if result is None:
        return []
    table = result.table().assign(name=feature_names(findings.model))
    table = table.sort_values("frequency", ascending=False, kind="stable")
    often = table["name"][table["frequency"] >= OFTEN].tolist()
    words = RUNS[result.runs]
    agreement = "agreement of the selections: 1 if all are the same, about 0 by chance"
    entries = {
        words.counted: f"{len(result.importances):,}",
        agreement: number(float(result.agreement.value)),
    }
    return [
        fill(
            "stability.html",
            origin=words.origin,
            runs=words.name,
            caution=words.caution,
            threshold=number(result.threshold),
            level=f"{result.level:.0%}",
            figures=_figures(entries),
            often=f"Selected in at least {OFTEN:.0%} of the {words.name}: {listed(often, 12)}.",
        )
    ]


def training(findings: Findings) -> Section:
    """The training history."""
    model = findings.model
    if isinstance(model, BasePRS):
        said = (
            f"{counted(model.n_iter_, 'epoch')}, ended because: {model.stop_reason_}. Alpha is "
            f"that of epoch {model.best_iter_:,}, where the validation objective was lowest."
        )
        if model.n_repeats_ > 1:
            said = (
                f"{counted(model.n_repeats_, 'repeat')} of up to {counted(model.n_iter_, 'epoch')}"
                f", ended because: {model.stop_reason_}. Alpha is the mean over repeats, each at "
                "its best epoch. The charts show means over repeats."
            )
    elif hasattr(model, "n_iter_"):
        said = f"{counted(int(model.n_iter_), 'iteration')} of drawing subsets, keeping the best."
    else:
        said = "The members are not trained iteratively, so there is no history."
    drawn = [chart.markup for key, chart in findings.charts.items() if key != "members"]
    return [tag("p", said), tag("div", *drawn, class_="charts") if drawn else None]


def members(findings: Findings) -> Section:
    """The number of features per member."""
    chart = findings.charts["members"]
    return [tag("p", chart.summary), tag("div", chart.markup, class_="charts")]


def fitted(findings: Findings) -> Section:
    """Model, data and parameters."""
    given, defaults = _parameters(findings.model), _parameters(type(findings.model)())
    shown = {name: shorten(repr(value), 400, placeholder=" …") for name, value in given.items()}
    changed = {name: shown[name] for name in given if repr(given[name]) != repr(defaults[name])}
    return [
        _pairs(_facts(findings), "Model and data"),
        tag("h3", "Parameters that are not the defaults"),
        _pairs(changed, "Changed parameters") if changed else tag("p", "None."),
        tag("details", tag("summary", f"All {len(shown)} parameters"), _pairs(shown, "Parameters")),
    ]


def _parameters(model: Any) -> dict[str, Any]:
    """Parameters of the model, and of the solver that it uses."""
    params = model.get_params(deep=False)
    if "solver" not in params:
        return params
    del params["solver"]
    numbers = model._solver().get_params(deep=False)
    return params | {f"solver__{name}": value for name, value in numbers.items()}


def _pairs(entries: Mapping[str, str], caption: str) -> Markup:
    rows = (
        tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in entries.items()
    )
    head = tag("caption", caption, class_="hidden")
    return tag("div", tag("table", head, tag("tbody", *rows), class_="pairs"), class_="card")


def _facts(findings: Findings) -> dict[str, str]:
    model, names = findings.model, feature_names(findings.model)
    facts = {
        "Task": model._task,
        "Model": type(model).__name__,
        **_base_facts(model),
        "Engine": ", ".join(dict.fromkeys(engine_name(type(one)) for one in model._engines)),
        "Features": f"{model.n_features_in_:,}: {listed(names, 6)}",
    }
    encoder = model.column_encoder_
    if encoder is not None and len(encoder.columns):
        encoded = [names[j] for j in np.unique(encoder.columns)]
        facts["Categories"] = f"{listed(encoded, 6)}: one indicator per value"
    if encoder is not None and len(encoder.filled_):
        filled = [names[j] for j in encoder.filled_]
        facts["Missing values"] = f"{listed(filled, 6)}: the mean, with an indicator"
    for name, rows in (("Training rows", findings.train), ("New rows", findings.test)):
        if rows is not None:
            facts[name] = _described(model, rows)
    if has_repeats(model):
        facts["Repeats"] = f"{model.n_repeats_:,}"
    facts["Models trained"] = f"{model.n_models_trained_:,}"
    facts["Seed"] = repr(findings.parameter("random_state"))
    return {**facts, **findings.facts}


def _base_facts(model: SubspaceEnsemble) -> dict[str, str]:
    bases = {
        name: refit_code.constructor(base) for name, base in bases_of(model.estimator_).items()
    }
    if "" in bases:
        return {"Base model": bases[""]}
    return {"Base models": "; ".join(f"{name}: {base}" for name, base in bases.items())}


def _described(model: SubspaceEnsemble, rows: Rows) -> str:
    kind, y = frame_kind(rows.X), rows.y
    said = f"{rows.n:,} of a {kind} frame" if kind else f"{rows.n:,}"
    if model._task == "regression":
        span = f"from {number(y.min())} to {number(y.max())}"
        return f"{said}; target {span}, mean {number(y.mean())}"
    labels, counts = np.unique(y, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return f"{said}; {listed([f'{labels[c]} ({counts[c]:,})' for c in order], 10)}"


def reproduce(findings: Findings) -> Section:
    """Code, command and versions."""
    said = (
        "No seed was set, so the same call gives a similar model, not the same one; set "
        "random_state to change that."
        if findings.parameter("random_state") is None
        else "The same data, parameters, seed and versions give the same model, bit for bit, with "
        "any number of workers."
    )
    blocks = {"In Python": refit_code.code(findings.model), "At the command line": findings.command}
    written = (
        join([tag("h3", title), _code_block(title, code)])
        for title, code in blocks.items()
        if code is not None
    )
    versions = _pairs(refit_code.versions(), "Versions")
    return [tag("p", said), *written, tag("h3", "Versions that wrote this page"), versions]


def _code_block(label: str, code: str) -> Markup:
    # Text of a page does not keep line breaks, which code needs.
    lines = join([join([line]) for line in code.split("\n")], "\n")
    return tag("div", tag("pre", tag("code", lines), tabindex="0", aria_label=label), class_="code")
