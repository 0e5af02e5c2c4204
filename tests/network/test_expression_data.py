"""Expression data in every shape that users have it in, and what can be wrong with it."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from randsub import _tables
from randsub.network.expression_data import (
    check_varies,
    match_genes,
    read_expression,
    read_validation,
    resolve_genes,
)

NAMES = ["b", "d", "a", "c"]
VALUES = np.arange(20.0).reshape(5, 4) ** 1.5 * np.array([1.0, 0.0, 1.0, 1.0])


class FakeAnnData:
    """The part of AnnData's interface that is read."""

    def __init__(self, X, names, layers=None, isbacked=False):
        self.X, self.var_names = X, pd.Index(names)
        self.layers, self.isbacked = layers or {}, isbacked

    def to_memory(self):
        return FakeAnnData(self.X, self.var_names, self.layers)


@pytest.fixture
def fake_anndata(monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", SimpleNamespace(AnnData=FakeAnnData))


def expect_values(expression):
    assert expression.names == ("a", "b", "c", "d")
    assert expression.is_named
    np.testing.assert_array_equal(expression.values(), VALUES[:, [2, 0, 3, 1]], strict=True)
    np.testing.assert_array_equal(expression.in_file, [1, 3, 0, 2])
    assert expression.values().flags.c_contiguous


TABLES = {
    "array": (VALUES, NAMES),
    "list": (VALUES.tolist(), NAMES),
    "fortran": (np.asfortranarray(VALUES), np.array(NAMES)),
    "csr matrix": (sparse.csr_matrix(VALUES), NAMES),
    "csc array": (sparse.csc_array(VALUES), NAMES),
    "pandas": (pd.DataFrame(VALUES, columns=NAMES), None),
    "pandas, nullable": (pd.DataFrame(VALUES, columns=NAMES).astype("Float64"), None),
    "polars": (pl.DataFrame(VALUES, schema=NAMES), None),
}


@pytest.mark.parametrize("kind", TABLES)
def test_all_tables_are_read_alike(kind):
    table, names = TABLES[kind]
    expect_values(read_expression(table, names))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("layer", [None, "scaled"])
@pytest.mark.parametrize("isbacked", [False, True])
def test_an_annotated_matrix_brings_its_names(fake_anndata, make, layer, isbacked):
    layers = {"scaled": make(VALUES)}
    X = make(VALUES) if layer is None else make(VALUES + 1.0)
    expect_values(read_expression(FakeAnnData(X, NAMES, layers, isbacked), layer=layer))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("layer", [None, "scaled"])
@pytest.mark.filterwarnings("ignore")
def test_the_real_anndata(make, layer):
    anndata = pytest.importorskip("anndata")
    table = anndata.AnnData(
        X=make(VALUES if layer is None else VALUES + 1.0),
        var=pd.DataFrame(index=NAMES),
        layers={"scaled": make(VALUES)},
    )
    expect_values(read_expression(table, layer=layer))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("layer", [None, "scaled"])
@pytest.mark.filterwarnings("ignore")
def test_the_real_anndata_in_a_file(make, layer, tmp_path, monkeypatch):
    anndata = pytest.importorskip("anndata")
    monkeypatch.setattr(_tables, "PORTION", 8)
    given = make(VALUES if layer is None else VALUES + 1.0)
    var = pd.DataFrame(index=NAMES)
    anndata.AnnData(X=given, var=var, layers={"scaled": make(VALUES)}).write_h5ad(tmp_path / "a")
    expect_values(read_expression(anndata.read_h5ad(tmp_path / "a", backed="r"), layer=layer))


@pytest.mark.parametrize("kind", TABLES)
def test_genes_that_are_not_used_are_not_read(kind, monkeypatch):
    table, names = TABLES[kind]
    monkeypatch.setattr(_tables, "PORTION", 8)
    expression = read_expression(table, names)
    genes = np.array([0, 2])
    np.testing.assert_array_equal(expression.values(genes), VALUES[:, [2, 3]], strict=True)
    broken = VALUES.copy()
    broken[1, 0] = np.nan
    np.testing.assert_array_equal(read_expression(broken, NAMES).values(genes), VALUES[:, [2, 3]])
    with pytest.raises(ValueError, match=r"1 missing .* in the gene\(s\) 'b'"):
        read_expression(broken, NAMES).values(np.array([0, 1]))


def test_whole_numbers_and_single_precision_become_double():
    for dtype in (np.int64, np.float32, np.uint8):
        counts = np.arange(12).reshape(3, 4).astype(dtype)
        expression = read_expression(counts, NAMES)
        assert expression.values().dtype == np.float64
        np.testing.assert_array_equal(expression.values()[:, 0], [2, 6, 10])


@pytest.mark.parametrize("table", [VALUES, pd.DataFrame(VALUES)], ids=["array", "frame"])
def test_genes_without_names_are_numbered(table):
    expression = read_expression(table)
    assert expression.names == ("G1", "G2", "G3", "G4")
    assert not expression.is_named


def test_the_tenth_gene_is_found_where_it_belongs():
    values = np.random.default_rng(0).normal(size=(3, 11))
    expression = read_expression(values)
    assert expression.names[:3] == ("G1", "G10", "G11")
    np.testing.assert_array_equal(expression.values()[:, expression.in_file], values)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.permutations(range(6)))
def test_the_order_of_the_genes_leaves_no_trace(order):
    rng = np.random.default_rng(0)
    values, names = rng.normal(size=(4, 6)), np.array(list("qwerty"))
    one = read_expression(values, names)
    other = read_expression(values[:, order], names[order])
    assert one.names == other.names
    np.testing.assert_array_equal(one.values(), other.values())
    np.testing.assert_array_equal(one.in_file[list(order)], other.in_file)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (VALUES, {"gene_names": ["a", "b"]}, "gene_names has 2 names, but expression has 4"),
        (VALUES, {"gene_names": ["a", "b", "", "c"]}, r"1 gene\(s\) .* column 2 has ''"),
        (VALUES, {"gene_names": ["a", "b", None, "c"]}, "column 2 has None"),
        (VALUES, {"gene_names": ["a", "b", "a", "b"]}, r"2 gene\(s\) more than once: 'a', 'b'"),
        (pd.DataFrame(VALUES, columns=[*"aba", "c"]), {}, "more than once: 'a'"),
        (pd.DataFrame(VALUES, columns=[1, 2, 3, 9]), {}, "column 0 has 1"),
        (pd.DataFrame(VALUES, columns=NAMES), {"gene_names": NAMES}, "its own gene names"),
        (pd.DataFrame({"cell": ["x"], "a": [1.0]}), {}, r"not numbers: 'cell'.*Samples are rows"),
        (pl.DataFrame({"cell": ["x"], "a": [1.0]}), {}, "not numbers: 'cell'"),
        (np.where(VALUES > 50, np.nan, VALUES), {"gene_names": NAMES}, "5 missing .*'a', 'b', 'c'"),
        (np.where(VALUES > 70, np.inf, VALUES), {}, "infinite"),
        (VALUES, {"layer": "counts"}, "layer='counts' names a layer of an AnnData.*ndarray"),
        (VALUES[0], {}, "Expected 2D array"),
    ],
)
def test_what_is_wrong_is_said(table, options, message):
    with pytest.raises(ValueError, match=message):
        read_expression(table, **options).values()


def test_letters_of_a_word_are_no_names():
    with pytest.raises(TypeError, match="must be a list of names, got 'abcd'"):
        read_expression(VALUES, gene_names="abcd")
    with pytest.raises(TypeError, match="must be a list of names, got 3"):
        read_expression(VALUES, gene_names=3)


@pytest.mark.parametrize("genes", [3, 2.5, [["a"], ["b", "c"]]], ids=repr)
def test_genes_that_are_no_list(genes):
    expression = read_expression(VALUES, gene_names=NAMES)
    with pytest.raises(TypeError, match=r"targets must be a list of genes, got ") as caught:
        resolve_genes(genes, expression, "targets")
    assert repr(genes) in str(caught.value)


def test_an_annotated_matrix_without_the_layer(fake_anndata):
    with pytest.raises(ValueError, match="no layer 'counts'; its layers are 'scaled'"):
        read_expression(FakeAnnData(VALUES, NAMES, {"scaled": VALUES}), layer="counts")
    with pytest.raises(ValueError, match="has no X; choose one of its layers 'scaled'"):
        read_expression(FakeAnnData(None, NAMES, {"scaled": VALUES}))


# -- choosing genes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "which",
    [["c", "b"], np.array(["c", "b"]), pd.Index(["c", "b"]), (3, 0), np.array([3, 0])],
    ids=["list", "array", "index", "positions", "array of positions"],
)
def test_genes_by_name_or_position(which):
    columns = resolve_genes(which, read_expression(VALUES, NAMES), "regulators")
    np.testing.assert_array_equal(columns, [2, 1])


def test_genes_by_mask_and_all_of_them():
    expression = read_expression(VALUES, NAMES)
    mask = np.array([True, False, False, True])
    np.testing.assert_array_equal(resolve_genes(mask, expression, "regulators"), [1, 2])
    np.testing.assert_array_equal(resolve_genes(None, expression, "regulators"), [1, 3, 0, 2])


@pytest.mark.parametrize(
    ("which", "error", "message"),
    [
        (["a", "x", "y"], ValueError, "2 of the 3 regulators are not in the data: 'x', 'y'"),
        (["a", "a"], ValueError, r"regulators names 1 gene\(s\) more than once: 'a'"),
        ([0, 0], ValueError, "more than once: 'b'"),
        ([0, 4], ValueError, "outside 0 to 3: 4"),
        ([-1], ValueError, "outside 0 to 3: -1"),
        ([], ValueError, "at least one gene"),
        ([True, False], ValueError, "one entry for each of the 4 genes.*got 2 entries"),
        ([False] * 4, ValueError, "0 of them True"),
        ("abc", TypeError, "the single string 'abc'"),
        ([1.5, 2.0], TypeError, "names, positions or a mask, got 1.5"),
    ],
)
def test_genes_that_are_not_there(which, error, message):
    with pytest.raises(error, match=message):
        resolve_genes(which, read_expression(VALUES, NAMES), "regulators")


def test_names_of_genes_without_names():
    with pytest.raises(ValueError, match="the data has no gene names: pass gene_names"):
        resolve_genes(["a"], read_expression(VALUES), "regulators")


def test_validation_samples_may_come_in_another_order_and_with_further_genes():
    expression = read_expression(VALUES, NAMES)
    frame = pd.DataFrame(VALUES, columns=NAMES).assign(extra=1.0)[["extra", *sorted(NAMES)[::-1]]]
    # An array is taken to be in the order of the file.
    for table in (frame, VALUES):
        for genes in (np.arange(4), np.array([1, 3])):
            found = read_validation(table, expression, genes, None, None)
            np.testing.assert_array_equal(found, expression.values(genes))


def test_validation_samples_of_other_genes():
    expression, genes = read_expression(VALUES, NAMES), np.arange(4)
    others = read_expression(VALUES, ["a", "b", "e", "f"])
    with pytest.raises(ValueError, match=r"lacks 2 gene\(s\) of expression: 'c', 'd'"):
        match_genes(others, expression, genes)
    # Those that are used are enough.
    np.testing.assert_array_equal(match_genes(others, expression, genes[:2]), [0, 1])
    with pytest.raises(ValueError, match="4 and 3 genes"):
        match_genes(read_expression(VALUES[:, :3]), expression, genes)
    with pytest.raises(ValueError, match="has 3 genes and expression_val 4, without names"):
        match_genes(read_expression(VALUES), read_expression(VALUES[:, :3]), genes[:3])


def test_constant_genes_are_named():
    with pytest.raises(ValueError, match=r"1 gene\(s\) have the same value in all 5 rows: 'd'"):
        check_varies(VALUES, NAMES, "rows")


def test_what_varies_by_rounding_alone_is_constant():
    values = VALUES.copy()
    values[:, 1] = np.where(np.arange(len(values)) % 2, 0.3, 0.1 + 0.2)
    assert np.ptp(values[:, 1]) > 0.0
    with pytest.raises(ValueError, match=rf"1 gene\(s\) have the same value.*'{NAMES[1]}'"):
        check_varies(values, NAMES, "rows")
    # Small numbers, and small deviations, that are more than that.
    values[:, 1] = VALUES[:, 0]
    check_varies(values * 1e-90, NAMES, "rows")
    check_varies(1.0 + values * 1e-9, NAMES, "rows")
