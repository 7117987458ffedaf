"""One module per source of datasets, with a tuple ``ENTRIES``; the registry finds new modules by itself."""
