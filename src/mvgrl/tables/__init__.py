"""Tabular files: reading, writing, ids, column types. Import from the submodules; most of them need pyarrow."""
