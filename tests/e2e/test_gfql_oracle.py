"""Our query engine against the client's own, over random graphs and random queries. Every run has a seed of its own,
which is printed at the end; GRAPHLUME_ORACLE_SEED repeats one.

Known differences, which the generator stays away from or the comparison allows for:

* A condition of `where` whose later step stands left is turned round by the reference; ours compares
  what is written. Cases put the earlier step left.
* `where` in the reference keeps one of several parallel edges and leaves node markers out; ours keeps
  all edges and marks nodes. Edges are compared by their ends, and columns that only one side has are
  left out.
* An edge step without `hops` is unbounded in one pass of the reference and one hop in the other; ours
  is one hop. Cases always say how many hops.
* Columns for hop numbers disappear in the reference unless their name contains `hop`; ours stay. Cases
  use such names.
* Naming a column for hop numbers makes the reference mark, after a step of `hops: 3`, only nodes at hop
  three, though without that column it marks those at one to three; ours always does. Cases write the
  bounds out.
* Without a node table the reference loses the columns of degrees again; ours keeps them. Cases have one.
* Slices by `output_min_hops` and `output_max_hops` give the reference nodes without attributes; ours
  keep theirs. Unit tests hold them, not this comparison.
* Node and edge calls with predicate objects match nothing in the reference; ours decode them. Cases use
  plain values.
* After a step of `min_hops: 2` the reference also leads on from a first node that is met again too early,
  which it neither marks nor keeps where the chain ends there; ours leads on from what got far enough
  (`a_step_leads_on_from_what_got_far_enough` in the engine's tests). Such a step ends the chains of cases.
  Where the last node step asks for just that node, the reference keeps it, unmarked and without an edge,
  which is no match of the chain; ours does not (`a_step_does_not_end_at_what_was_met_too_early`). In
  queries with such a step, nodes that only the reference keeps and that are on no edge are left out.
* A node step after such a step marks in the reference all that any hop reached where the nodes have a column
  of its name already, and only what got far enough where they have none; ours always does the latter. Such
  node steps have names of their own.
* `%` on a column of zeros and ones is refused by the reference; ours computes it. Cases do without.

Texts in Cypher are drawn apart (`cypher_cases.py`), and answered twice: as the client compiles them, and whole. Known there:

* A condition that compares the ids of steps that are not beside each other (`a.key = c.key`) makes the reference repeat
  rows; cases write `a = c`, which says the same.
* `[*]` of a shortest path has no hops, or a loop, from a node to itself in the reference and as the client compiles it; a
  text says one hop at least, and openCypher has no such path. Rows from the start to itself are left out.
* A column of times without a zone is compared by the reference with `datetime()` and `date()` as well; a text compares it with
  `localdatetime()`, which cases use.
* `labels` and `properties` are texts in the reference, `labels(n)` a list in ours, maps are fields or a text: they are compared
  by what they say. The id is a property in ours whatever its type and name, and flags of labels and the times of nodes are left out.
* A walk of several hops either way, or of two at least (`*2`), is cut short by the reference where it goes on along another
  of several parallel edges or loops; ours takes it. Such walks of cases go one way and have one hop at least.
* A column of zeros and ones is a column of truths to the reference's `CASE`, too. Cases compare with other numbers.
* What the reference refuses is no case: it is counted, and more than two thirds of a family fail. Of the family that it refuses
  most it refuses an eighth, so that chance alone does not get there with twenty texts.

What the client drops before the server sees it is in `cypher_cases.DROPPED`; such texts are compared whole only.
"""

import os
from pathlib import Path

import pytest

import cypher_cases
import gfql_cases
from conftest import binary

# Per family, others in every run. Most of the time goes to the reference, and further random cases are a search: the gate
# makes as many as find what is broken (a family is one kind of query), scripts/long.sh 334 of each and 84 texts, ten times.
CASES = int(os.environ.get("GRAPHLUME_ORACLE_CASES", "50"))
# conftest.py makes one when none is given.
SEED = os.environ["GRAPHLUME_ORACLE_SEED"]


@pytest.fixture(scope="module")
def engines(tmp_path_factory):
    ours = gfql_cases.Engine(str(Path(binary()).with_name("graphlume-gfql")), tmp_path_factory.mktemp("gfql"))
    yield ours, gfql_cases.Reference()
    ours.close()


@pytest.mark.parametrize("family", list(gfql_cases.FAMILIES))
def test_answers_agree_with_the_reference(engines, family):
    ours, theirs = engines
    wrong, answered = [], 0
    for number in range(CASES):
        nodes, edges, case = gfql_cases.make_case(SEED, number, family)
        mine, other = ours.run(nodes, edges, case), theirs.run(nodes, edges, case)
        answered += "error" not in mine
        found = gfql_cases.difference(case, mine, other)
        if found:
            wrong.append(f"case {number}: {found[0]}: {found[1]}\n  {case}")
    assert not wrong, f"{len(wrong)} of {CASES} differ with GRAPHLUME_ORACLE_SEED={SEED}:\n" + "\n".join(wrong[:5])
    assert answered > CASES * 0.9, f"only {answered} of {CASES} cases were answered"


# Per family of texts, each in both ways.
TEXTS = int(os.environ.get("GRAPHLUME_ORACLE_TEXTS", "20"))


@pytest.mark.parametrize("family", list(cypher_cases.FAMILIES))
def test_texts_in_cypher_agree_both_ways(engines, family):
    ours, theirs = engines
    wrong, compared = [], 0
    for number in range(TEXTS):
        nodes, edges, text = cypher_cases.make_case(SEED, number, family)
        other = theirs.run(nodes, edges, {"query": text})
        if "error" in other:
            continue
        compared += 1
        ways = {"text": text, "compiled": None if cypher_cases.dropped(text) else cypher_cases.compiled(text)}
        for way, query in ways.items():
            found = query and cypher_cases.difference(text, ours.run(nodes, edges, {"query": query}), other)
            if found:
                wrong.append(f"case {number}, {way}: {text}\n  {found}")
    assert not wrong, f"{len(wrong)} differ with GRAPHLUME_ORACLE_SEED={SEED}:\n" + "\n".join(wrong[:5])
    assert compared > TEXTS / 3, f"the reference answered only {compared} of {TEXTS}"
