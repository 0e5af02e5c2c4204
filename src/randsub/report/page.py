"""The whole page: everything that is known, in the order in which people ask for it."""

import base64
import datetime
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from randsub._tables import frame_kind
from randsub.ensemble.base import BasePRS
from randsub.ensemble.subspace import SubspaceEnsemble
from randsub.report import recipe, sections
from randsub.report.comparison import Comparison
from randsub.report.importances import Importances, feature_names
from randsub.report.markup import Markup, data_block, join, tag
from randsub.report.notices import Evidence, notices
from randsub.report.rows import Rows
from randsub.report.stability import StabilityView
from randsub.report.training import training_charts
from randsub.report.wording import counted, listed, number, score

ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Cpath d='M2 14V8h3v6zm4.5 0V2h3v12zM11 14v-4h3v4z' fill='%230f6e68'/%3E%3C/svg%3E"
)


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that the page is made of; what is not known is None."""

    model: SubspaceEnsemble
    title: str
    train: Rows | None
    test: Rows | None
    comparison: Comparison | None
    importances: Importances | None
    stability: StabilityView | None
    facts: Mapping[str, str]
    command: str | None


def render(findings: Findings) -> str:
    """The page as one string that needs nothing else."""
    charts = training_charts(findings.model)
    data: dict[str, Any] = {"charts": {chart.key: chart.data() for chart in charts}}
    if findings.importances is not None:
        data["table"] = sections.table_data(findings.importances)
    parts: dict[str, Markup] = {
        "summary": sections.section("summary", "In short", *_summary(findings)),
        "scores": sections.section("scores", "How good it is", _scores(findings)),
        "importances": sections.section("importances", "Which features matter", *_ranked(findings)),
    }
    if findings.stability is not None:
        parts["stability"] = sections.section(
            "stability", "How stable that is", sections.stability_words(findings.stability)
        )
    parts["training"] = sections.section(
        "training", "How training went", sections.training(charts, _training_remark(findings.model))
    )
    parts["members"] = sections.section(
        "members", "What the members see", sections.members(findings.model)
    )
    parts["fitted"] = sections.section("fitted", "What was fitted on what", *_fitted(findings))
    parts["reproduce"] = sections.section("reproduce", "How to reproduce it", *_recipe(findings))
    body = tag(
        "body",
        tag("a", "To the content", href="#content", class_="skip"),
        _header(findings, list(parts)),
        tag("main", *parts.values(), class_="wrap", id="content"),
        _footer(),
        data_block("data", data),
        Markup(f"<script>{_script()}</script>"),
    )
    return f'<!doctype html>\n<html lang="en">{_head(findings.title)}{body}</html>\n'


@cache
def _asset(name: str) -> str:
    return resources.files("randsub.report").joinpath(name).read_text(encoding="utf-8")


def _script() -> str:
    return _asset("page.js")


def policy() -> str:
    """What the page may do: run this one script, and reach nothing."""
    digest = hashlib.sha256(_script().encode()).digest()
    allowed = f"'sha256-{base64.b64encode(digest).decode()}'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _head(title: str) -> Markup:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="generator", content=f"randsub {recipe.versions()['randsub']}"),
        tag("link", rel="icon", href=ICON),
        tag("title", title),
        Markup(f"<style>{_asset('page.css')}</style>"),
    )


_TITLES = {
    "summary": "In short",
    "scores": "Scores",
    "importances": "Importances",
    "stability": "Stability",
    "training": "Training",
    "members": "Members",
    "fitted": "Model and data",
    "reproduce": "Reproduce",
}


def _header(findings: Findings, parts: list[str]) -> Markup:
    links = (tag("li", tag("a", _TITLES[part], href=f"#{part}")) for part in parts)
    toggle = tag("button", "Theme", type="button", id="theme", class_="theme", hidden=True)
    return tag(
        "header",
        tag("div", tag("h1", findings.title), toggle, class_="top-line"),
        tag("p", _lead(findings.model), class_="lead"),
        tag("nav", tag("ul", *links), aria_label="Parts of this page"),
        class_="top wrap",
    )


def _lead(model: SubspaceEnsemble) -> str:
    what = "classes" if model._task == "classification" else "numbers"
    return (
        f"{type(model).__name__}: {counted(len(model.estimators_), 'copy', 'copies')} of "
        f"{recipe.constructor(model.estimator_)}, each on some of the "
        f"{counted(model.n_features_in_, 'feature')}, predict {what} together."
    )


def _footer() -> Markup:
    now = datetime.datetime.now(datetime.UTC)
    if "SOURCE_DATE_EPOCH" in os.environ:
        # For builds that must come out the same each time.
        now = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.UTC)
    written = f"Written on {now:%d %B %Y} by randsub {recipe.versions()['randsub']}. "
    rest = "This page holds all it needs: it loads nothing and sends nothing."
    return tag("footer", written, rest, class_="wrap")


# -- in short ------------------------------------------------------------------------------------


def _summary(findings: Findings) -> list[Markup | None]:
    evidence = Evidence(findings.model, findings.importances, findings.train, findings.comparison)
    return [
        sections.figures(_key_figures(findings)),
        sections.notice_list(notices(evidence), _unchecked(findings)),
    ]


def _key_figures(findings: Findings) -> list[tuple[str, str]]:
    model, comparison = findings.model, findings.comparison
    entries = []
    if comparison is not None:
        entries.append(
            (
                score(comparison.model.score),
                f"{comparison.metric} on {counted(comparison.n_test, 'new row')}",
            )
        )
    elif isinstance(model, BasePRS):
        entries.append((number(model.validation_loss_), "validation loss, on which it was chosen"))
    entries.append(
        (
            number(float(model.expected_size_)),
            f"of {counted(model.n_features_in_, 'feature')} seen by a member, on average",
        )
    )
    if findings.importances is not None:
        likely = int((findings.importances.alpha >= 0.5).sum())
        entries.append((f"{likely:,}", "seen by more than half of the members (alpha ≥ 0.5)"))
    entries.append((f"{model.n_models_trained_:,}", "base models trained in all"))
    return entries


def _unchecked(findings: Findings) -> list[str]:
    if findings.train is None:
        return [
            "The training rows were not given with this report, so that the sizes of classes and "
            "of the validation part could not be checked."
        ]
    return []


# -- the other parts -----------------------------------------------------------------------------


def _scores(findings: Findings) -> Markup:
    model = findings.model
    if findings.comparison is not None:
        return sections.scores(findings.comparison)
    said = [
        "No rows were given on which the model could be scored, or no comparison was asked for, so "
        "this page says nothing about how well it predicts."
    ]
    if isinstance(model, BasePRS):
        said.append(
            f"The loss on validation at the best epoch is {number(model.validation_loss_, 4)}. The "
            "epoch was chosen for this number, so it flatters the model."
        )
    said.append("To compare it with a random forest on new rows, give X, y, X_test and y_test.")
    return join([tag("p", sentence) for sentence in said])


def _ranked(findings: Findings) -> list[Markup | None]:
    found = findings.importances
    if found is None:
        return [
            tag(
                "p",
                f"{type(findings.model).__name__} chooses the features of its members by chance: "
                "it has no importances.",
            )
        ]
    top = found.top(min(5, int((found.alpha > 0.0).sum())))
    said = (
        f"Alpha is the probability with which a member sees a feature. Highest: {listed(top)}."
        if top
        else "No feature is ever seen by a member: every alpha is 0."
    )
    n_shown = sections.n_bars(found)
    heading = tag("h3", f"The first {n_shown}" if n_shown < len(found.names) else "Alpha")
    table_heading = tag("h3", f"All {counted(len(found.names), 'feature')}")
    return [
        tag("p", said),
        heading,
        sections.importance_bars(found),
        table_heading,
        sections.feature_table(found),
    ]


def _training_remark(model: SubspaceEnsemble) -> str:
    if isinstance(model, BasePRS):
        return (
            f"{counted(model.n_iter_, 'epoch')}, ended because: {model.stop_reason_}. Alpha is "
            f"that of epoch {model.best_iter_:,}, where the validation objective was lowest."
        )
    n_iter = getattr(model, "n_iter_", None)
    if n_iter is not None:
        return f"{counted(int(n_iter), 'iteration')} of drawing subsets and keeping the best."
    return "Nothing is learned step by step, so there is nothing to follow."


def _fitted(findings: Findings) -> list[Markup | None]:
    model = findings.model
    defaults = type(model)().get_params(deep=False)
    given = model.get_params(deep=False)
    shown = {name: _shortened(value) for name, value in given.items()}
    changed = [name for name in given if repr(given[name]) != repr(defaults[name])]
    return [
        tag("div", sections.pairs(_data_facts(findings), "Model and data"), class_="card"),
        tag("h3", "Parameters that are not the defaults"),
        tag("div", sections.pairs(_only(shown, changed), "Changed parameters"), class_="card")
        if changed
        else tag("p", "None."),
        tag(
            "details",
            tag("summary", f"All {len(shown)} parameters"),
            tag("div", sections.pairs(shown, "Parameters"), class_="card"),
        ),
    ]


def _only(entries: Mapping[str, str], names: list[str]) -> dict[str, str]:
    return {name: entries[name] for name in names}


def _shortened(value: Any, most: int = 400) -> str:
    written = " ".join(repr(value).split())
    return written if len(written) <= most else f"{written[:most]} …"


def _data_facts(findings: Findings) -> dict[str, str]:
    model = findings.model
    names = feature_names(model)
    facts = {
        "Task": model._task,
        "Model": type(model).__name__,
        "Base model": recipe.constructor(model.estimator_),
        "Engine": type(model._engine).__name__,
        "Features": f"{model.n_features_in_:,}: {listed(names, 6)}",
    }
    encoder = model.category_encoder_
    if encoder is not None:
        encoded = [names[j] for j in np.unique(encoder.columns)]
        facts["Categories"] = f"{listed(encoded, 6)}: an indicator for each value"
    if findings.train is not None:
        facts["Training rows"] = _described(model, findings.train)
    if findings.test is not None:
        facts["New rows"] = _described(model, findings.test)
    facts["Models trained"] = f"{model.n_models_trained_:,}"
    facts["Seed"] = repr(model.get_params(deep=False)["random_state"])
    return {**facts, **findings.facts}


def _described(model: SubspaceEnsemble, rows: Rows) -> str:
    kind = frame_kind(rows.X)
    where = f" of a {kind} frame" if kind else ""
    said = f"{rows.n:,}{where}"
    if model._task == "classification":
        labels, counts = np.unique(rows.y, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        shown = [f"{labels[c]} ({counts[c]:,})" for c in order]
        return f"{said}; {listed(shown, 10)}"
    y = rows.y
    return f"{said}; target from {number(y.min())} to {number(y.max())}, mean {number(y.mean())}"


def _recipe(findings: Findings) -> list[Markup | None]:
    model = findings.model
    seeded = model.get_params(deep=False)["random_state"] is not None
    said = (
        "The same data, parameters, seed and versions give the same model, bit for bit, with any "
        "number of workers."
        if seeded
        else "No seed was set, so the same call gives a similar model, not the same; set "
        "random_state to change that."
    )
    content = [
        tag("p", said),
        tag("h3", "In Python"),
        sections.code_block("Code", recipe.code(model)),
    ]
    if findings.command is not None:
        content += [
            tag("h3", "At the command line"),
            sections.code_block("Command", findings.command),
        ]
    return [
        *content,
        tag("h3", "Versions that wrote this page"),
        tag("div", sections.pairs(recipe.versions(), "Versions"), class_="card"),
    ]
