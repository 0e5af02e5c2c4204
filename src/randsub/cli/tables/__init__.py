"""Tables in files: csv, tsv, parquet, feather and npz.

* :mod:`~randsub.cli.tables.table_reader`, :mod:`~randsub.cli.tables.table_writer`: `read_table`
  and `write_table`;
* :mod:`~randsub.cli.tables.file_formats`: whether a file is what its name says;
* :mod:`~randsub.cli.tables.delimited_text`, :mod:`~randsub.cli.tables.npz_table`: csv and tsv; npz;
* :mod:`~randsub.cli.tables.layout`: separator, decimal mark and orientation, as options give them;
* :mod:`~randsub.cli.tables.near_numbers`: decimal commas, and other text that is nearly numbers;
* :mod:`~randsub.cli.tables.identifiers`: columns that number or name the rows;
* :mod:`~randsub.cli.tables.column_checks`: whether a model can be trained on the columns.
"""

from randsub.cli.tables.file_formats import TableError
from randsub.cli.tables.layout import Layout
from randsub.cli.tables.table_reader import read_table
from randsub.cli.tables.table_writer import check_table_file, write_table

__all__ = ["Layout", "TableError", "check_table_file", "read_table", "write_table"]
