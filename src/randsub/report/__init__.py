"""A fitted model as a page to read and to send.

The page is one file. Data is checked in ``rows``, models to compare with are trained in
``contenders`` and scored in ``comparison``; ``notices`` looks for what should be doubted;
``sections`` and ``charts`` make markup of it all through ``markup``, which escapes every string;
``page`` puts the parts in order, with ``page.css`` and ``page.js``.
"""

from randsub.report.writing import write_report

__all__ = ["write_report"]
