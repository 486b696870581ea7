"""What `bench/published.py --check` finds, on a repository that is made up: no server, no binary, nothing measured."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import published
import published_text as text
from published_figures import FIGURES, Figure

SEARCH = Figure("search", "a search", "CPU ms", ("engine",), ("communities",))
PAGE = Figure("page", "the page", "CPU s", ("page",), None, "bench/results/page.jsonl", "firstCpuMs")


def measured(commit, value=40.0):
    return {"unit": "CPU ms", "value": value, "quality": {"modularity": 0.0925}, "commit": commit, "date": "2026-11-28",
            "machine": {"cpu": "a processor", "cores": 2, "memory_gib": 8},
            "peers": {"other": {"value": 260.0, "ratio": 6.5, "least": 6.2, "most": 6.7, "rounds": 3}}}


class Repository:
    """A repository with one document and one source file, in which `search` has been measured."""

    def __init__(self, root):
        self.root = root
        for name in ("bench/results", "engine", "page"):
            (root / name).mkdir(parents=True)
        self.write("engine/search.rs", "fn search() {}\n")
        self.write("engine/search_tests.rs", "\n")
        self.write("page/main.ts", "\n")
        self.write(published.EXCEPTIONS, "# none\n")
        self.write("README.md", "# A title\n\n<!-- figures: all -->\n<!-- /figures -->\n")
        self.git("init", "-q")
        self.commit()
        self.write(published.FILE, json.dumps({"search": measured(self.git("rev-parse", "HEAD"))}))
        published.write(root, [SEARCH])
        self.commit()

    def git(self, *words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        return subprocess.run(["git", *identity, *words], cwd=self.root, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-qm", "A state")

    def write(self, name, body):
        (self.root / name).write_text(body, encoding="utf-8")

    def append(self, name, body):
        self.write(name, (self.root / name).read_text(encoding="utf-8") + body)

    def errors(self, *figures):
        return list(published.errors(self.root, figures or (SEARCH,)))

    def warnings(self, *figures):
        return list(published.warnings(self.root, figures or (SEARCH,)))


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path)


def test_a_document_that_is_the_file_passes(repository):
    assert repository.errors() == [] and repository.warnings() == []
    assert published.check(repository.root, [SEARCH], strict=True) == 0
    body = (repository.root / "README.md").read_text()
    assert "| a search | 40.0 CPU ms, modularity 0.0925 | other 6.5 times (6.2 to 6.7) | 2026-11-28, " in body
    assert "Machine: a processor, 2 cores, 8 GiB." in body


def test_a_figure_that_was_changed_in_the_document_is_found(repository):
    body = (repository.root / "README.md").read_text()
    repository.write("README.md", body.replace("6.5 times", "9.5 times"))
    assert repository.errors() == ["README.md: its table is not what bench/results/published.json says; run bench/published.py --write"]


def test_a_figure_that_was_changed_in_the_file_is_found(repository):
    repository.write(published.FILE, json.dumps({"search": measured(repository.git("rev-parse", "HEAD"), 39.0)}))
    assert any("its table is not what" in line for line in repository.errors())


@pytest.mark.parametrize("words", ["31 µs", "40 CPU-ms", "some 3 seconds", "8.5 MB", "96 iterations a second", "2.6 GB a second",
                                   "6.5 times", "twice as fast", "tens of ms", "12 %", "60 fps"])
def test_a_number_that_stands_in_no_file_is_found(repository, words):
    repository.append("README.md", f"\nA search takes {words} here.\n")
    (line,) = repository.errors()
    assert line.startswith("README.md:11: ") and line.endswith("stands in no file")


def test_code_blocks_numbers_of_versions_and_counts_are_no_measurements():
    assert text.speech("# A\n\n```\ntook 3 ms\n```\n\nVersion 1.95 of 2026-11-28, ADR-12, 55 algorithms, `k + 13`, 1440 by 900.\n") == []


def test_an_exception_covers_its_words_and_is_found_when_it_covers_none(repository):
    repository.append("README.md", "\nA request ends after\n60 seconds. It takes 3 ms.\n")
    repository.append(published.EXCEPTIONS, "README.md | ends after 60 seconds | limit\n")
    assert repository.errors() == ['README.md:12: "3 ms" stands in no file']
    repository.append(published.EXCEPTIONS, "README.md | A title | definition\nOLD.md | 3 ms | limit\n")
    assert [line.split(":")[1] for line in repository.errors()] == ["4", "3", "12"]


def test_a_path_that_changed_is_a_warning_and_strictly_an_error(repository):
    repository.write("engine/search_tests.rs", "// more tests\n")
    assert repository.warnings() == []
    repository.write("engine/search.rs", "fn search() { fast() }\n")
    (line,) = repository.warnings()
    assert "engine/search.rs changed since" in line
    assert published.check(repository.root, [SEARCH], strict=False) == 0
    assert published.check(repository.root, [SEARCH], strict=True) == 1


def test_a_figure_without_a_measurement_is_a_warning_and_stands_in_no_document(repository):
    more = Figure("more", "more", "ms", ("engine",), ("hops",))
    assert repository.errors(SEARCH, more) == []
    assert repository.warnings(SEARCH, more) == ["not measured, and in no table: more"]


def test_a_commit_that_is_not_there_is_a_warning(repository):
    repository.write(published.FILE, json.dumps({"search": measured("0" * 40)}))
    assert repository.warnings() == ["search: its commit 000000000000 is not in this repository"]


def test_a_path_that_is_not_there_is_an_error(repository):
    gone = Figure("search", "a search", "CPU ms", ("engine", "gone"), ("communities",))
    assert "search: there is no gone" in repository.errors(gone)


def test_a_figure_that_is_not_what_its_record_says_is_an_error(repository):
    line = {"size": "100k", "method": "fence", "date": "2026-11-27T08:00:00Z"}
    rows = [{**line, "library": "graphlume", "firstCpuMs": 2000.0}, {**line, "library": "sigma", "firstCpuMs": 9000.0}]
    repository.write(PAGE.record, "".join(json.dumps(row) + "\n" for row in rows))
    kept = published.of_record(repository.root, PAGE)
    assert kept == {"value": 2.0, "date": "2026-11-27", "peers": {"sigma": {"value": 9.0, "ratio": 4.5, "rounds": 1}}}
    both = {"search": measured(repository.git("rev-parse", "HEAD")), "page": {**measured(repository.git("rev-parse", "HEAD")), "unit": PAGE.unit, **kept}}
    repository.write(published.FILE, json.dumps(both))
    published.write(repository.root, [SEARCH, PAGE])
    assert repository.errors(SEARCH, PAGE) == []
    both["page"]["value"] = 1.0
    repository.write(published.FILE, json.dumps(both))
    assert any("page: bench/results/published.json is not what" in line for line in repository.errors(SEARCH, PAGE))


@pytest.fixture
def binary(repository, monkeypatch):
    """A function that gives the arguments for a program that says it was built from this commit."""
    monkeypatch.setattr(published, "FIGURES", [SEARCH])
    found = {"value": 1.0, "quality": {}, "peers": {}}
    monkeypatch.setitem(sys.modules, "published_measures", SimpleNamespace(communities=lambda args: found))

    def of(commit):
        program = repository.root.parent / "program"
        program.write_text(f"#!/bin/sh\necho 'graphlume 0.1.0 (commit {commit[:12]}, backends: cpu)'\n")
        program.chmod(0o755)
        return SimpleNamespace(bin=str(program), only=None, budget=10.0, rounds=3)

    return of


def test_a_measurement_is_kept_with_the_commit_of_the_binary(repository, binary):
    commit = repository.git("rev-parse", "HEAD")
    assert published.measure(repository.root, binary(commit)) == 0
    kept = published.measurements(repository.root)["search"]
    assert (kept["commit"], kept["value"], kept["machine"]["cores"] > 0) == (commit, 1.0, True)


def test_nothing_is_kept_of_a_binary_from_elsewhere_or_from_another_state(repository, binary):
    with pytest.raises(SystemExit, match="not in this repository"):
        published.measure(repository.root, binary("0" * 40))
    repository.write("engine/search.rs", "fn search() { fast() }\n")
    assert published.measure(repository.root, binary(repository.git("rev-parse", "HEAD"))) == 1
    assert published.measurements(repository.root)["search"]["value"] == 40.0


def test_the_time_ends_a_measurement_between_two_figures(repository, binary):
    args = binary(repository.git("rev-parse", "HEAD"))
    args.budget = -1.0
    assert published.measure(repository.root, args) == 0
    assert published.measurements(repository.root)["search"]["value"] == 40.0


def test_names_are_unique_and_every_figure_has_one_origin():
    names = [f.name for f in FIGURES]
    assert len(set(names)) == len(names)
    assert all(bool(f.how) != bool(f.record) and f.paths for f in FIGURES)


def test_the_check_needs_nothing_but_pythons_own_modules():
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import published; "
            "assert not {'numpy', 'pyarrow', 'pandas'} & set(sys.modules)")
    subprocess.run([sys.executable, "-c", code, BENCH], check=True)
