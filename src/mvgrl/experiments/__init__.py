"""The paper's tables as data, the recipes behind our numbers, and the ledger of runs."""
