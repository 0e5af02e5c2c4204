"""The paper's experiments, to be run again beside its figures: ``randsub reproduce``.

A map of the room. An *experiment* (``experiments/``, one file each) names its *cells*; a cell is
one fit and its test, with all that decides over the result (``cells``). The *runner* runs those
that are not in the *store* yet and keeps each at once, so that a run may be stopped at any time;
``outputs`` turns the records into files. ``methods`` knows how each method is trained and tuned,
``settings`` what the paper's PRS is, ``published`` what the paper reports, ``summaries`` the
arithmetic between the two, ``tables`` and ``figures`` how it looks, and ``page`` makes a page of
several runs.
"""
