"""The TU collection: sets of graphs with a class per graph."""

from __future__ import annotations

from collections.abc import Mapping

from mvgrl.datasets.base import Contents, DatasetInfo
from mvgrl.graphs.tu import read_tu


def _entry(
    prefix: str,
    title: str,
    counts: tuple[int, int, int, int],
    authors: str,
    digests: Mapping[str, str | None],
    package: tuple[str, str] | None = None,
) -> DatasetInfo:
    """The entry of a dataset, with its files' common prefix and its graphs, nodes, edges and classes."""
    graphs, nodes, edges, classes = counts
    return DatasetInfo(
        name=prefix.lower().replace("_", "-"),
        title=title,
        task="graph",
        graphs=graphs,
        nodes=nodes,
        edges=edges,
        classes=classes,
        citation=f"{authors}; TUDataset (Morris et al., 2020), https://chrsmrrs.github.io/datasets",
        licence="none stated; the collection asks to be cited",
        folder=f"tu/{prefix}/raw",
        files={f"{prefix}_{part}.txt": digest for part, digest in digests.items()},
        url=f"https://www.chrsmrrs.com/graphkerneldatasets/{prefix}.zip",
        archive_folder=prefix,
        reader=lambda folder: Contents(*read_tu(folder, prefix)),
        package=package,
    )


_KERNELS = "Yanardag, Vishwanathan, KDD 2015"
ENTRIES = (
    _entry(
        "MUTAG",
        "molecules, mutagenic or not",
        (188, 3371, 3721, 2),
        "Debnath et al., 1991",
        {
            "A": "d9656ca7493f3445d737c711710bb36fd432dddd1c0ea32e1d4713c86ebd28e2",
            "graph_indicator": "7d520a4d6c7961c0cdeabe076d8fe27e795b6d373485c9a2b744987e560a2056",
            "graph_labels": "a1518ea39ba3426bd42f57396b9c4baffe68e9adc718caeeab0119c6591a5f2c",
            "node_labels": "678f429965490e84dd27713017538c995fc05d1621beac910848b600015ee863",
            "edge_labels": "4669ce755075ff86c3240709345745886400908fa637a49310459b9c267b3e56",
        },
        ("grakel", "tests/data/MUTAG"),
    ),
    _entry(
        "PTC_MR",
        "molecules, carcinogenic in male rats or not",
        (344, 4915, 5054, 2),
        "Helma et al., 2001",
        {
            "A": "f79523ff94dfbef539e5602a8ac1931a50a2800f33fa1d30e5e31725289b5202",
            "graph_indicator": "d52754f3cbc54e29324f884b4c17200c16e06db0c499afae300b4fa1bb6d794b",
            "graph_labels": "64210accbe4c6c027535b1294e0da652b1f539667f7a2d4bf5121dcd8b00a224",
            "node_labels": "cc50d1e1c5f4c98b2100cf50c5ddd88ff28b419a9180d531046b75ce22983235",
            "edge_labels": "acee2f93b52175a329009dc837bea9db7c2a121c2ef0b1587b38bbe6fc9b8177",
        },
    ),
    _entry(
        "IMDB-BINARY",
        "casts of films, two genres",
        (1000, 19773, 96531, 2),
        _KERNELS,
        {
            "A": "23c8964bab82f81469271186d721131714a265d0ca8c44ae048118da1d0c4092",
            "graph_indicator": "415cc3ba25b8c647dcf34d3de034f675ee070616f3b803be939cb26773489f26",
            "graph_labels": "63a44411fd6342b9c4429828c16e144a2a11ef5244e25bb60f0ffa8b3ee2ffce",
        },
    ),
    _entry(
        "IMDB-MULTI",
        "casts of films, three genres",
        (1500, 19502, 98903, 3),
        _KERNELS,
        {
            "A": "fb538b23758d78df199272301e57dc74ad5754d6c3d79d5ed0a343193ddf4ec6",
            "graph_indicator": "0274532a0e47dad9cdd21c08995c2265e43040a2c2a3b36c62fdb790994571d3",
            "graph_labels": "613c2357b6b996f6f04b91697a99da87774820f9d08bf22813992f4c7afda855",
        },
    ),
    _entry(
        "REDDIT-BINARY",
        "discussions, two kinds",
        (2000, 859254, 995508, 2),
        _KERNELS,
        dict.fromkeys(("A", "graph_indicator", "graph_labels")),  # the digests of the published files are unknown
    ),
)
