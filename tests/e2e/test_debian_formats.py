"""A package index like Debian's through every upload format; `bench/data/debian_formats.py` takes the whole one."""

import random
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench/data"))
import debian_formats  # noqa: E402
import debian_graph  # noqa: E402

SECTIONS = ["games", "libs", "non-free/libs", "python", "science"]
WORDS = ["tool, small", 'the "best" one', "für alle", "日本語", "C++ headers;", "a=b", "=1+1", "007", "NULL", "it's", ""]


def index(count, seed=7):
    """The text of a package index: versions, alternatives, virtual packages, absent ones, and names of all kinds."""
    rng = random.Random(seed)
    names = [f"{rng.choice(['lib', 'python3-', '0', 'g++-', 'node.'])}{i}{rng.choice(['', '+dev', '-data', '.1'])}"
             for i in range(count)]
    out = []
    for i, name in enumerate(names):
        some = lambda most: [rng.choice(names) for _ in range(rng.randint(0, most))]
        entries = [f"{n} (>= {rng.randint(0, 9)}:1.2~rc1)" if rng.random() < 0.3 else n for n in some(6)]
        entries += [f"absent-{i} | {rng.choice(names)}:any"] if rng.random() < 0.3 else []
        entries += ["mail-agent"] if rng.random() < 0.1 else []
        fields = {"Package": name, "Section": rng.choice(SECTIONS), "Installed-Size": str(rng.randint(0, 10**7)),
                  "Maintainer": f"{rng.choice(['Jörg', 'Ann'])} <x@example.org>", "Depends": ", ".join(entries),
                  "Recommends": ", ".join(some(2)), "Description": " ".join(rng.choices(WORDS, k=3))}
        if i % 50 == 0:
            fields["Provides"] = "mail-agent, smtp (= 1)"
        out.append("".join(f"{k}: {v}\n" for k, v in fields.items() if v) + " continued\n")
    return "\n".join(out)


@pytest.fixture(scope="module")
def tables():
    nodes, edges = debian_graph.build(index(600))
    assert len(nodes) == 600 and len(edges) > 2000 and nodes["package"].is_unique
    return nodes, edges


def test_every_format_shows_the_same_graph_in_the_page(server, alice, tables):
    datasets, rows = zip(*(debian_formats.put(alice, name, *tables) for name in debian_formats.FORMATS))
    assert not any(row["cut"] for row in rows)
    for row, seen in zip(rows, debian_formats.look(server.url, datasets)):
        assert debian_formats.judge(row, seen), row
