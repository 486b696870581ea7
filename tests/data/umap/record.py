"""Writes the tables beside this file and `reference.json`: how well umap-learn keeps the neighbourhoods of each.

Run with a Python that has umap-learn and scikit-learn: `python tests/data/umap/record.py`. The tables are four of
scikit-learn's (Iris, wine recognition, breast cancer Wisconsin and optical digits, all of the UCI repository, CC BY 4.0).
Their features are prepared as the client does: scaled by median and interquartile range and rounded to five digits
("robust"), or as they are ("none"). The trustworthiness is scikit-learn's at 15 neighbours, by seed; the graph is the fuzzy one,
whose entries and weights do not depend on the seed. Small tables are plain text, for the unit tests.
"""

import gzip
import json
import pathlib
import warnings

import numpy
import sklearn
import umap
from sklearn import datasets
from sklearn.manifold import trustworthiness
from sklearn.preprocessing import RobustScaler

HERE = pathlib.Path(__file__).parent
TABLES = {"iris": datasets.load_iris, "wine": datasets.load_wine, "breast_cancer": datasets.load_breast_cancer,
          "digits": datasets.load_digits}
SEEDS = range(5)
PLAIN = 16_000
# The client's defaults, and umap-learn's.
CASES = {"robust": {"n_neighbors": 12, "min_dist": 0.1, "spread": 0.5}, "none": {"n_neighbors": 15, "min_dist": 0.1, "spread": 1.0}}


def write(name, features, labels):
    columns = [f"f{i}" for i in range(features.shape[1])]
    lines = [",".join(["id", *columns, "label"])]
    for i, (row, label) in enumerate(zip(features, labels)):
        lines.append(",".join([f"r{i}", *(f"{v:.10g}" for v in row), f"c{label}"]))
    text = "\n".join(lines) + "\n"
    if len(text) < PLAIN:
        (HERE / f"{name}.csv").write_text(text)
    else:
        (HERE / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def main():
    warnings.filterwarnings("ignore")
    found = {}
    for name, load in TABLES.items():
        data = load()
        write(name, data.data, data.target)
        found[name] = {}
        for scaling, params in CASES.items():
            x = numpy.round(RobustScaler().fit_transform(data.data), 5) if scaling == "robust" else data.data
            models = [umap.UMAP(random_state=seed, **params).fit(x) for seed in SEEDS]
            kept = [trustworthiness(x, model.embedding_, n_neighbors=15) for model in models]
            graph = {"edges": int(models[0].graph_.nnz), "weight": round(float(models[0].graph_.sum()), 3)}
            found[name][scaling] = {"params": params, "trustworthiness": [round(float(t), 5) for t in kept], "graph": graph}
            print(name, scaling, found[name][scaling]["trustworthiness"], flush=True)
    versions = {"umap-learn": umap.__version__, "scikit-learn": sklearn.__version__}
    (HERE / "reference.json").write_text(json.dumps({"versions": versions, "tables": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
