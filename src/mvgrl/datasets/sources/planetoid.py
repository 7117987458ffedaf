"""The citation graphs of Planetoid: Cora, CiteSeer and PubMed with the public split."""

from __future__ import annotations

from pathlib import Path

from mvgrl.datasets.base import Contents, DatasetInfo
from mvgrl.datasets.sources.linqs import CORA_CLASSES
from mvgrl.graphs.planetoid import read_planetoid


def _entry(
    folder_name: str, title: str, counts: tuple[int, int, int], names: tuple[str, ...] | None, digests: dict[str, str]
) -> DatasetInfo:
    """The entry of a dataset, with its nodes, edges and classes; classes without names are numbered."""

    def read(folder: Path) -> Contents:
        graph, target, splits = read_planetoid(folder, folder_name)
        return Contents(graph, target, names or tuple(map(str, range(target.max() + 1))), splits)

    nodes, edges, classes = counts
    name = folder_name.lower()
    return DatasetInfo(
        name=name,
        title=f"{title}, with the public split",
        task="node",
        graphs=1,
        nodes=nodes,
        edges=edges,
        classes=classes,
        citation="Yang, Cohen, Salakhutdinov, ICML 2016, https://github.com/kimiyoung/planetoid",
        licence="repository MIT; none stated for the data",
        folder=f"planetoid/{folder_name}/raw",
        files={f"ind.{name}.{part}": digest for part, digest in digests.items()},
        url="https://raw.githubusercontent.com/kimiyoung/planetoid/master/data",
        reader=read,
    )


ENTRIES = (
    _entry(
        "Cora",
        "papers on machine learning",
        (2708, 5278, 7),
        CORA_CLASSES,
        {
            "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
            "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
            "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
            "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
            "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
            "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
            "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
            "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
        },
    ),
    _entry(
        "CiteSeer",
        "papers on computer science",
        (3327, 4552, 6),
        None,
        {
            "x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
            "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
            "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
            "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
            "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
            "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
            "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
            "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
        },
    ),
    _entry(
        "PubMed",
        "papers on diabetes",
        (19717, 44324, 3),
        None,
        {
            "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
            "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
            "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
            "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
            "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
            "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
            "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
            "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
        },
    ),
)
