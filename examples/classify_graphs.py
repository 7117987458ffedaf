"""Classify mutagenic molecules: a graph embedder in a scikit-learn pipeline, tuned by grid search.

The embedder never sees a label, only the classifier does. The grid search fits both on each training fold; a cache
folder makes it train the embedder once per fold and number of layers, and not again for every C.

    python examples/classify_graphs.py
"""

from tempfile import TemporaryDirectory

from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from mvgrl import GraphEmbedder
from mvgrl.datasets import load

mutag = load("mutag")  # 188 molecules; included in a package, no download
molecules = [
    mutag.graph.select([i]) for i in range(mutag.graph.count)
]  # a list, which grid search can split into folds

choices = {"graphembedder__layers": [2, 4], "linearsvc__C": [0.01, 0.1, 1.0]}
folds = StratifiedKFold(5, shuffle=True, random_state=0)
with TemporaryDirectory() as cache:
    embedder = GraphEmbedder(hidden=32, epochs=10, features="labels+degree")
    pipeline = make_pipeline(embedder, LinearSVC(), memory=cache)
    search = GridSearchCV(pipeline, choices, cv=folds).fit(molecules, mutag.target)

print(f"best of {len(search.cv_results_['params'])} choices: {search.best_params_}")
print(f"accuracy over the 5 folds it was chosen on: {100 * search.best_score_:.1f} % (majority class: 66.5 %)")
