"""What the paper prints of its ablations (Tables 5 to 7): mean and deviation, as data."""

from __future__ import annotations

from mvgrl.experiments.published import GRAPH_DATASETS

DATASETS = ("cora-linqs", "citeseer", "pubmed", *GRAPH_DATASETS)  # the paper's Cora is that of LINQS

# A line a row, a column a dataset; – where the paper has no number. Its multi-scale row is that of diffpool-2 again.
_PRINTED = {
    "ablation-bounds": """
        NCE      85.8±0.7  73.3±0.5  80.1±0.7  82.2±3.2  54.6±2.5  73.7±0.5  50.8±0.8  79.7±2.2
        JSD      86.7±0.6  72.9±0.6  79.4±1.0  89.7±1.1  62.5±1.7  74.2±0.7  51.1±0.5  84.5±0.6
        NT-Xent  86.8±0.5  72.9±0.6  79.3±0.8  75.4±7.8  51.2±3.3  63.6±4.2  50.4±0.6  82.0±1.1
        DV       85.4±0.6  73.3±0.5  78.9±0.8  83.4±1.9  56.7±2.5  72.5±0.8  51.1±0.5  76.3±5.6
    """,
    "ablation-modes": """
        local-global  86.8±0.5  73.3±0.5  80.1±0.7  89.7±1.1  62.5±1.7  74.2±0.7  51.1±0.5  84.5±0.6
        global        –         –         –         85.4±2.8  56.0±2.1  72.4±0.4  49.7±0.8  80.8±1.8
        multi-scale   83.2±0.9  63.5±1.5  75.7±1.1  88.0±0.8  56.6±1.8  72.7±0.4  50.6±0.5  82.8±0.6
        hybrid        –         –         –         86.1±1.7  56.1±1.4  73.3±1.2  49.6±0.6  78.2±4.2
        ensemble      86.2±0.6  73.3±0.5  79.7±0.9  82.5±1.9  54.0±3.0  73.0±0.4  49.9±0.9  81.4±1.8
    """,
    "ablation-views": """
        adj-ppr    86.8±0.5  73.3±0.5  80.1±0.7  89.7±1.1  62.5±1.7  74.2±0.7  51.1±0.5  84.5±0.6
        adj-heat   86.4±0.5  71.8±0.5  77.2±1.2  85.0±1.9  55.8±1.1  72.8±0.5  50.0±0.6  81.6±0.9
        adj-dist   84.5±0.6  72.7±0.7  74.6±1.4  87.1±1.0  58.7±2.2  72.0±0.7  50.7±0.6  81.8±0.7
        ppr-heat   85.8±0.5  72.9±0.5  78.1±0.9  87.7±1.2  57.6±1.6  72.2±0.6  51.2±0.8  82.3±1.0
        ppr-dist   85.9±0.5  73.2±0.4  74.7±1.2  87.1±1.0  60.0±2.5  72.4±1.4  51.1±0.8  82.5±1.1
        heat-dist  85.2±0.4  70.4±0.7  72.8±0.7  87.4±1.2  58.6±1.7  72.2±0.6  50.5±0.5  80.3±0.6
    """,
    "ablation-readouts": """
        sum         86.2±0.6  73.3±0.5  79.6±0.9  89.7±1.1  62.5±1.7  74.2±0.7  51.1±0.5  84.5±0.6
        mean        86.8±0.5  73.2±0.6  80.1±0.7  88.8±0.7  60.9±1.2  72.3±0.5  49.1±0.7  79.4±0.5
        diffpool-1  84.6±0.8  65.2±1.7  76.1±0.8  89.6±0.9  61.1±0.2  72.8±0.6  49.4±0.9  81.3±0.4
        diffpool-2  83.2±0.9  63.5±1.5  75.7±1.1  88.0±0.8  56.6±1.8  72.7±0.4  50.6±0.5  82.8±0.6
    """,
    "ablation-encoders": """
        shared     86.2±0.6  72.8±0.6  79.5±0.1  82.8±1.9  55.9±2.2  73.0±0.7  50.0±0.3  81.3±2.0
        dedicated  86.8±0.5  73.3±0.5  80.1±0.7  89.7±1.1  62.5±1.7  74.2±0.7  51.1±0.5  84.5±0.6
    """,
    "ablation-view-count": """
        2  86.8±0.5  73.3±0.5  80.1±0.7  –         –         –         –         –
        3  85.3±0.5  71.2±0.7  79.9±0.6  –         –         –         –         –
    """,
}


def _read(printed: str) -> dict[str, dict[str, tuple[float, float]]]:
    """Row, dataset, and what stands there.

    >>> _read("DV  85.4±0.6  –")
    {'DV': {'cora-linqs': (85.4, 0.6)}}
    """
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for line in filter(None, map(str.strip, printed.splitlines())):
        row, *cells = line.split()
        pairs = ((dataset, cell.split("±")) for dataset, cell in zip(DATASETS, cells, strict=False) if cell != "–")
        found[row] = {dataset: (float(mean), float(std)) for dataset, (mean, std) in pairs}
    return found


PUBLISHED = {name: _read(printed) for name, printed in _PRINTED.items()}  # ablation, row, dataset: mean and deviation
