"""A report about a fitted model: one HTML page to read and to send.

``labelled_rows`` checks the data, ``reference_models`` trains models to compare with and
``model_comparison`` scores them; ``diagnostics`` looks for results that should be doubted. All of
this is gathered in ``findings``. ``sections``, ``score_table`` and ``charts`` turn it into markup
through ``markup``, which escapes every string, and ``html_page`` fills ``page.html`` with the
sections, ``page.css`` and ``page.js``.
"""

from randsub.report.html_report import write_report

__all__ = ["write_report"]
