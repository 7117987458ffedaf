"""From two Parquet files to a classifier, neighbours, clusters and a map: the 117,791 synsets of WordNet.

The graph is a table of relations, the features are the words of the glosses, and the classes, which the embedder never
sees, are WordNet's 45 lexicographer files. It takes about six minutes on two cores.

    python examples/wordnet.py FOLDER [OUTPUT]

FOLDER has synsets.parquet (id, lexicographer, words, gloss) and relations.parquet (source, target).
"""

import sys
import time
import warnings
from pathlib import Path

import pyarrow.parquet as pq
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD

from mvgrl import NodeEmbedder
from mvgrl.clusters import central_rows, find_clusters
from mvgrl.errors import GraphWarning
from mvgrl.evaluation import logistic_scores, random_splits
from mvgrl.graphs.read import read
from mvgrl.reports.embedding_map import embedding_map
from mvgrl.tables.embeddings import Embeddings, write_embeddings

warnings.simplefilter("ignore", GraphWarning)  # notes on the graph are printed below
folder, output = Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else ".")
started = time.perf_counter()


def say(text: str) -> None:
    """Print a line with the seconds since the start."""
    print(f"{time.perf_counter() - started:5.0f} s  {text}", flush=True)


# Read: the class column is a label, the gloss is text.
synsets = folder / "synsets.parquet"
named = read(folder / "relations.parquet", nodes=synsets, label_column="lexicographer", features=["gloss"])
say(named.graph.size_text)
for note in named.notes:
    say(f"note: {note}")

# Embed. On a CPU, a step of training on a graph of this size has a sample of 2,000 nodes; choices_ says so.
embedder = NodeEmbedder(random_state=0)
vectors = embedder.fit_transform(named)
say(embedder.choices_["sampler"])
write_embeddings(output / "vectors.parquet", Embeddings(named.node_ids, vectors))
say(f"{len(embedder.history_)} epochs; {embedder.choices_['vector']}")

# Evaluate: a probe trained on a tenth of the synsets, beside features that need no training, of the same length.
labels, words = named.labels, named.graph.features
assert labels is not None
assert words is not None
adjacency = named.graph.adjacency + sp.eye_array(named.graph.nodes)
step = sp.diags_array(1 / adjacency.sum(axis=1)) @ adjacency
length = min(vectors.shape[1], words.shape[1] - 1)
others = {"words of the gloss": words, "propagated, two steps": step @ (step @ words)}
compared = {"our vectors": vectors} | {
    name: TruncatedSVD(length, random_state=0).fit_transform(table) for name, table in others.items()
}
(split,) = random_splits(labels, count=1)
for name, table in compared.items():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # weak penalties may not converge; they are candidates as they are
        accuracy = logistic_scores(table, labels, [split])["accuracy"][0]
    say(f"accuracy {accuracy:5.1f} %  {name}")

# Neighbours of jazz.
name_of = dict(zip(*(pq.read_table(synsets)[column].to_pylist() for column in ("id", "words")), strict=True))
jazz = [one for one, name in name_of.items() if "jazz" in name.split()]
near = embedder.neighbors(jazz, k=5)
for query in jazz:
    found = [name_of[one].split()[0] for one in near["id"][near["query"] == query]]
    say(f"near {query} ({name_of[query]}): {', '.join(found)}")

# Clusters, as many as there are classes, with their most central members.
clusters = find_clusters(vectors, len(set(labels.tolist())))
for rows in central_rows(vectors, clusters.labels, 4)[:5]:
    say(f"a cluster around {', '.join(name_of[one].split()[0] for one in named.node_ids[rows])}")

# A map of 5,000 synsets, coloured by class.
embedding_map(vectors, output / "map.png", labels=labels, limit=5000, title="Synsets of WordNet")
say(f"wrote {output / 'vectors.parquet'} and {output / 'map.png'}")
