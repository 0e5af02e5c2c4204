"""The whole page, from the findings to one string."""

import base64
import hashlib
import os
import time
from datetime import UTC, datetime
from typing import Any

from randsub.estimators.base import SubspaceEnsemble
from randsub.report import refit_code, sections
from randsub.report.feature_table import table_data
from randsub.report.findings import Findings
from randsub.report.markup import Markup, asset, fill, join, json_text, tag
from randsub.report.text_format import counted

# For each section: its link, its heading and its content.
SECTIONS = {
    "summary": ("In short", "In short", sections.summary),
    "scores": ("Scores", "How good it is", sections.scores),
    "importances": ("Importances", "Which features matter", sections.importances),
    "bases": ("Base models", "What each base model contributes", sections.base_models),
    "stability": ("Stability", "How stable that is", sections.stability),
    "training": ("Training", "How training went", sections.training),
    "members": ("Members", "What the members see", sections.members),
    "fitted": ("Model and data", "What was fitted on what", sections.fitted),
    "reproduce": ("Reproduce", "How to reproduce it", sections.reproduce),
}


def render(findings: Findings) -> str:
    """The page as one string that needs nothing else."""
    data: dict[str, Any] = {"charts": {key: chart.data for key, chart in findings.charts.items()}}
    if findings.features is not None:
        data["table"] = table_data(findings.features)
    links, written = [], []
    for key, (link, heading, content) in SECTIONS.items():
        inside = content(findings)
        if inside:
            title = tag("h2", heading, id=f"{key}-title")
            written.append(tag("section", title, *inside, id=key, aria_labelledby=f"{key}-title"))
            links.append(tag("li", tag("a", link, href=f"#{key}")))
    return fill(
        "page.html",
        policy=policy(),
        version=refit_code.versions()["randsub"],
        title=findings.title,
        style=Markup(asset("page.css")),
        lead=_lead(findings.model),
        links=join(links),
        sections=join(written),
        date=_date(),
        data=json_text(data),
        script=Markup(asset("page.js")),
    )


def policy() -> str:
    """Content security policy: the page may run this one script, and load nothing."""
    digest = hashlib.sha256(asset("page.js").encode()).digest()
    allowed = f"'sha256-{base64.b64encode(digest).decode()}'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _lead(model: SubspaceEnsemble) -> str:
    what = "classes" if model._task == "classification" else "numbers"
    if hasattr(model, "shares_"):
        base = f"{counted(len(model.shares_), 'base model')} ({', '.join(model.shares_)})"
    else:
        base = refit_code.constructor(model.estimator_)
    return (
        f"{type(model).__name__}: {counted(len(model.estimators_), 'copy', 'copies')} of {base}, "
        f"each on some of the {counted(model.n_features_in_, 'feature')}, predict {what} together."
    )


def _date() -> str:
    # The variable is for builds that must be reproducible.
    now = float(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    return f"{datetime.fromtimestamp(now, UTC):%d %B %Y}"
