"""Predict the topics of Cora's papers from 140 labelled ones: a node embedder and scikit-learn's classifiers.

The embedder uses the citation graph and the papers' words; it never sees a topic. A sparse diffusion makes it fast.

    python examples/classify_nodes.py
"""

from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from mvgrl import NodeEmbedder
from mvgrl.datasets import load
from mvgrl.views import PPR

cora = load("cora-linqs")  # included in a package, no download
assert cora.splits is not None
train, val, test = (cora.splits[name] for name in ("train", "val", "test"))

embedder = NodeEmbedder(views=("adjacency", PPR(top_k=32)), random_state=0)
papers = embedder.fit_transform(cora.graph)  # one row per paper, in the order of embedder.ids_
print(f"{papers.shape[0]} papers, {papers.shape[1]} dimensions, {len(embedder.history_)} epochs")

# No StandardScaler: the first numbers matter most, and it would give all of them the same weight.
candidates = {
    f"logistic regression, C={strength}": LogisticRegression(C=strength, max_iter=1000) for strength in (0.1, 1.0, 10.0)
} | {"five nearest neighbours": KNeighborsClassifier(5, metric="cosine")}
for model in candidates.values():
    model.fit(papers[train], cora.target[train])
best = max(candidates, key=lambda name: candidates[name].score(papers[val], cora.target[val]))
accuracy = candidates[best].score(papers[test], cora.target[test])
print(f"{best}, chosen on the validation papers: {100 * accuracy:.1f} % accuracy on {len(test)} test papers")
