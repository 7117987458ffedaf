"""Tell mutagenic molecules from harmless ones: a graph embedder in a scikit-learn pipeline, tuned by grid search.

The embedder never sees a label; the classifier behind it does. The grid search refits both on each training fold.

    python examples/classify_graphs.py
"""

from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from mvgrl import GraphEmbedder
from mvgrl.datasets import load

mutag = load("mutag")  # 188 molecules; comes inside a package: no download
molecules = [mutag.graph.select([i]) for i in range(mutag.graph.count)]  # a list, so that folds can be taken from it

pipeline = make_pipeline(GraphEmbedder(hidden=64, features="labels+degree"), StandardScaler(), LinearSVC())
choices = {"graphembedder__layers": [2, 4], "linearsvc__C": [0.001, 0.01, 0.1]}
folds = StratifiedKFold(5, shuffle=True, random_state=0)
search = GridSearchCV(pipeline, choices, cv=folds).fit(molecules, mutag.target)

print(f"best of {len(search.cv_results_['params'])} choices: {search.best_params_}")
print(f"its accuracy over the 5 folds it was chosen on: {100 * search.best_score_:.1f} % (the larger class: 66.5 %)")
