"""The paper's experiments, run again beside its published numbers: ``randsub-experiments``.

A map of the package. An *experiment* (``experiments/``, one file each) lists its *cells*; a cell is
one fit and its test, with everything that decides its result (``cells``). The ``runner`` runs the
cells that are not on disk yet (``cell_store``) and stores each one at once, so that a run may be
stopped at any time; ``run_progress`` shows how far it is. ``methods`` and ``network_methods``
train, tune and measure each method; ``prs_settings`` holds the parameters of PRS.
``result_folder`` turns the stored records into files: tables (``result_table`` is one table,
``paper_tables`` are those that several experiments share, ``summaries`` is their arithmetic,
``published`` holds the paper's numbers, ``compatibility`` says which results may share a table) and
``figures/``.
``reproduction_page`` makes one page of several runs. ``command_line`` is the program (``program``
its exit codes and errors, ``cluster`` its Dask and Ray options), and ``datasets/`` are the loaders
of the paper's data.
"""
