"""Tables in files: csv, tsv, parquet, feather and npz.

* :mod:`~randsub.cli.tables.kinds`: whether a file is what its name says;
* :mod:`~randsub.cli.tables.reading`: `read_table`, which gives a frame with a name for each column;
* :mod:`~randsub.cli.tables.delimited`, :mod:`~randsub.cli.tables.archive`: text, and .npz;
* :mod:`~randsub.cli.tables.columns`: whether columns can be learned from;
* :mod:`~randsub.cli.tables.writing`: `write_table`.
"""

from randsub.cli.tables.kinds import TableError
from randsub.cli.tables.reading import TARGET, read_table
from randsub.cli.tables.writing import check_table_file, write_table

__all__ = ["TARGET", "TableError", "check_table_file", "read_table", "write_table"]
