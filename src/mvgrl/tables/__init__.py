"""Tabular files: paths, atomic writes, columns, ids, labels and embeddings; import from the submodules.

``atomic`` and ``paths`` need the standard library only; the other modules need pyarrow.
"""
