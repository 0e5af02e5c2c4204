"""The page in a real browser: it works, it is quiet, and it reaches nothing."""

import re
from importlib import resources

import numpy as np
import pytest

from chromium import Browser, find_browser
from randsub import PRSRegressor
from randsub.report import write_report

NASTY = "<script>document.title = 'run'</script>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    executable = find_browser()
    if executable is None:
        pytest.skip("there is no Chromium on this machine")
    with Browser(executable, tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def wide(regressor, tmp_path_factory):
    """A page about 20,000 features, the first with a name that would like to be a script."""
    rng = np.random.default_rng(0)
    model = PRSRegressor()
    names = [f"gene {j}" for j in range(20_000)]
    names[0] = NASTY
    model.__dict__ = {
        **regressor.__dict__,
        "n_features_in_": 20_000,
        "alpha_": rng.permutation(np.linspace(0.0, 1.0, 20_000)),
        "feature_names_in_": np.array(names, dtype=object),
    }
    path = write_report(model, tmp_path_factory.mktemp("page") / "report.html", title="Wide")
    return path, model


@pytest.fixture
def page(browser, wide):
    """The page, freshly opened; at the end it must have been quiet, and alone."""
    path, _ = wide
    browser.resize(1280, 900)
    browser.prefer("light")
    browser.open(path)
    yield browser
    assert browser.complaints() == []
    assert browser.requests() == [path.resolve().as_uri()]
    assert browser.run("document.title") == "Wide"


def shown(page, place):
    cells = f"[...document.querySelectorAll('#features tbody tr')].map(r => r.cells[{place}]"
    return page.run(f"{cells}.textContent)")


def click(page, selector):
    page.run(f"document.querySelector({selector!r}).click()")


def search(page, words):
    page.run(
        "{ const box = document.getElementById('features-search');"
        f"box.value = {words!r}; box.dispatchEvent(new Event('input')); }}"
    )


def test_the_table_sorts(page, wide):
    _, model = wide
    names, alpha = model.feature_names_in_, model.alpha_
    order = np.argsort(-alpha, kind="stable")
    assert shown(page, 1) == names[order[:25]].tolist()
    click(page, "#features th:nth-child(3) button")  # alpha: the highest first
    assert shown(page, 1) == names[order[:25]].tolist()
    click(page, "#features th:nth-child(3) button")
    assert shown(page, 1) == names[order[::-1][:25]].tolist()
    sorts = "[...document.querySelectorAll('#features th')].map(h => h.ariaSort)"
    assert page.run(sorts) == [None, None, "ascending", None]
    click(page, "#features th:nth-child(2) button")  # names, numbers in them by value
    assert shown(page, 1)[:3] == [NASTY, "gene 1", "gene 2"]
    click(page, "#features th:nth-child(2) button")
    assert shown(page, 1)[0] == "gene 19999"


def test_the_table_searches_and_pages(page):
    search(page, "GENE 1999")
    found = {f"gene {j}" for j in (1999, *range(19990, 20000))}
    assert set(shown(page, 1)) == found
    assert page.run("document.getElementById('features-status').textContent") == (
        "1 to 11 of 11 found among 20,000"
    )
    search(page, "no such feature")
    assert shown(page, 1) == []
    assert "No feature has" in page.run("document.getElementById('features-status').textContent")
    search(page, "")
    assert shown(page, 0) == [str(k) for k in range(1, 26)]
    click(page, "#features-next")
    assert shown(page, 0) == [str(k) for k in range(26, 51)]
    click(page, "#features-previous")
    assert page.run("document.getElementById('features-previous').disabled")
    page.run(
        "{ const size = document.getElementById('features-size');"
        "size.value = '500'; size.dispatchEvent(new Event('change')); }"
    )
    assert len(shown(page, 0)) == 500


def test_searching_many_features_takes_no_time(page):
    taken = page.run(
        "(() => { const begin = performance.now();"
        "const box = document.getElementById('features-search'); box.value = '7';"
        "box.dispatchEvent(new Event('input')); return performance.now() - begin; })()"
    )
    # A frame or two on a quiet machine; the bound leaves room for a busy one.
    assert taken < 2000


def test_a_name_is_shown_and_not_run(page):
    search(page, "<script>")
    assert shown(page, 1) == [NASTY]
    assert page.run("document.querySelectorAll('script').length") == 2


def test_saving_gives_what_is_found(page):
    search(page, "gene 777")
    saved = page.run(
        "(async () => { let blob; const make = URL.createObjectURL;"
        "URL.createObjectURL = (given) => { blob = given; return make.call(URL, given); };"
        "HTMLAnchorElement.prototype.click = () => {};"
        "document.getElementById('features-save').click(); return await blob.text(); })()"
    )
    lines = saved.splitlines()
    assert lines[0] == "rank,name,alpha,held"
    assert len(lines) == 1 + 11
    assert all(",gene 777" in line for line in lines[1:])


def test_arrow_keys_read_the_charts(page, wide):
    _, model = wide
    page.run(
        "document.querySelector('[data-chart=size]').dispatchEvent("
        "new KeyboardEvent('keydown', { key: 'Home', cancelable: true }))"
    )
    said = page.run("document.querySelector('[data-chart=size] .readout').textContent")
    first = model.history_["expected_size"].iloc[0]
    found = re.fullmatch(r"Epoch 1: expected size ([\d.]+)", said)
    assert float(found[1]) == pytest.approx(first, rel=1e-3)


def test_the_pointer_reads_the_bars(page, wide):
    _, model = wide
    page.run(
        "{ const area = document.querySelector('[data-chart=members] .area');"
        "const box = area.getBoundingClientRect();"
        "area.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + 1 })); }"
    )
    sizes = [len(features) for features in model.estimators_features_]
    said = page.run("document.querySelector('[data-chart=members] .readout').textContent")
    assert said == f"Features {min(sizes)}: members {sizes.count(min(sizes))}"
    assert not page.run("document.querySelector('[data-chart=members] .cursor').hidden")


def test_the_theme_can_be_chosen(page):
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.run(paper)
    page.prefer("dark")
    dark = page.run(paper)
    assert dark != light
    click(page, "#theme")  # from auto to light
    assert page.run(paper) == light
    click(page, "#theme")
    page.prefer("light")
    assert page.run(paper) == dark
    click(page, "#theme")
    assert page.run(paper) == light


def test_paper_is_white(page):
    click(page, "#theme")
    click(page, "#theme")  # from auto over light to dark
    feature = {"name": "prefers-color-scheme", "value": "dark"}
    page.call("Emulation.setEmulatedMedia", media="print", features=[feature])
    try:
        paper = page.run("getComputedStyle(document.body).backgroundColor")
        click(page, "#theme")  # to auto, on a dark system
        automatic = page.run("getComputedStyle(document.body).backgroundColor")
    finally:
        page.call("Emulation.setEmulatedMedia", media="", features=[])
    assert paper == automatic == "rgb(255, 255, 255)"


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_hangs_over_the_edge(page, width):
    page.resize(width, 844)
    assert page.run("document.documentElement.scrollWidth") == width


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def palettes():
    css = resources.files("randsub.report").joinpath("page.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root[^{]*\{([^}]*--ink[^}]*)\}", css)
    return [dict(re.findall(r"--([a-z-]+): (#\w{6});", block)) for block in blocks[:3]]


@pytest.mark.parametrize("place", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "paper"),
    [("ink", "paper"), ("ink", "card"), ("muted", "paper"), ("muted", "card"), ("first", "paper"),
     ("first", "card"), ("second", "card"), ("third", "card"), ("warn-ink", "warn-paper"),
     ("ink", "warn-paper")],
)  # fmt: skip
def test_text_has_contrast(ink, paper, place):
    palette = palettes()[place]
    high, low = sorted([luminance(palette[ink]), luminance(palette[paper])], reverse=True)
    assert (high + 0.05) / (low + 0.05) >= 4.5  # WCAG AA


def test_the_two_ways_into_the_dark_are_one():
    _, by_system, by_choice = palettes()
    assert by_system == by_choice
