"""The examples of the client's documentation of GFQL, written again over graphs of our own.

A name is the page (`overview`, `about` is "10 minutes to GFQL", `quick`, `predicates`, `remote`, `translate`, `where`,
`return`, `datetime`, `wire` is the page of wire examples, `spec wire`, `spec language`, `spec python`, `spec cypher`,
`spec llm`, `calls` is "built-in calls", `cypher`, `indexing`, `loading`, `docstring`) and what the example shows. Examples
of a page that differ only in values stand here once.
"""

from datetime import date, datetime, time

import pandas as pd
from graphistry import (
    Chain, between, col, compare, contains, e, e_forward, e_reverse, e_undirected, endswith, eq, fullmatch, ge, gt,
    is_in, is_leap_year, is_month_end, is_month_start, is_quarter_end, is_quarter_start, is_year_end, is_year_start,
    isalnum, isalpha, isdigit, islower, isna, isnull, isnumeric, isupper, le, lt, match, n, ne, notna, notnull,
    startswith,
)
from graphistry.compute import DateTimeValue, DateValue, TimeValue
from graphistry.compute.ast import (
    call, distinct, group_by, let, limit, order_by, ref, return_, rows, select, skip, unwind, where_rows, with_,
)
from graphistry.compute.calls import hypergraph


def moments(texts):
    return pd.to_datetime(texts, format="ISO8601")


RISK_NODES = pd.DataFrame({
    "id": ["a", "b", "c", "d", "t1", "t2", "t3"],
    "type": ["person", "person", "company", "person", "transaction", "transaction", "transaction"],
    "risk1": [False, False, False, True, True, False, False],
    "risk2": [False, False, False, True, False, True, True],
    "age": [17, 34, None, 61, None, None, None],
})
RISK_EDGES = pd.DataFrame({
    "src": ["a", "b", "a", "t1", "t2", "d", "d", "b", "t3"],
    "dst": ["b", "c", "t1", "t2", "c", "t1", "t3", "a", "t2"],
    "e_type": ["knows", "owns", "sent", "transfer", "received", "owns", "reviews", "knows", "transfer"],
    "interesting": [True, True, False, False, False, True, False, False, True],
    "timestamp": moments(["2022-11-03", "2023-02-01", "2023-06-14", "2023-06-30", "2021-01-01", "2023-07-01",
                                 "2023-12-31", "2024-01-01", "2023-06-01"]),
    "amount": [10, 20, 10_500, 40_000, 50, 12_000, 70, 80, 90_000],
})

WORLD_NODES = pd.DataFrame({
    "id": ["Ann", "Bob", "Cid", "Dot", "Eve", "acc1", "acc2", "acc3", "srv1", "srv2", "ev1", "ev2", "ev3"],
    "type": ["Person", "Person", "Person", "Person", "User", "account", "account", "user", "server", "server", "event",
             "event", "event"],
    "name": ["Alice A", "bob", "Alina", None, "eve", "42", "side", "joint", "web1", "DB2", "e1", "e2", "e.3"],
    "score": [80, 50, 120, 7, 9, 10, 55, 60, 0, 3, 51, 49, 50],
    "rate": [0.5, None, 2.25, 1.0, 7.5, None, 0.0, 3.0, 9.5, 1.5, None, 4.0, 5.0],
    "age": [31, 17, 45, 64, 28, 19, 18, 30, 66, 12, 33, 29, 40],
    "country": ["USA", "FR", "USA", "DE", "USA", "FR", "FR", "USA", "DE", "USA", "FR", "DE", "USA"],
    "status": ["active", "active", "inactive", "active", "infected", "active", "closed", "active", "active", "infected",
               "active", "inactive", "active"],
    "active": [True, True, False, True, False, True, False, True, True, False, True, False, True],
    "critical": [False, False, False, False, True, False, True, False, True, True, False, False, True],
    "flagged": [True, False, True, True, False, True, True, False, False, True, False, False, True],
    "community": ["A", "A", "B", "B", "A", "B", "A", "B", "A", "B", "A", "B", "A"],
    "owner_id": [1, 2, 3, 4, 5, 1, 2, 1, 7, 7, 8, 9, 8],
    "org_id": [10, 10, 20, 20, 10, 10, 20, 10, 20, 20, 10, 20, 10],
    "min_risk": [1, 5, 3, 2, 4, 2, 6, 1, 3, 2, 4, 5, 1],
    "manager_id": pd.Series(["Bob", None, "Ann", "Ann", None, None, None, "Eve", None, None, None, None, None], dtype="object"),
    "tags": [["x", "y"], [], ["y"], None, ["z"], ["x"], [], [], ["x", "x"], None, ["q"], [], ["y", "z"]],
    "created_at": moments(["2023-01-01 12:00:01", "2023-01-01 12:00:00", "2022-12-31", "2024-02-29 23:59:59", None,
                                  "2023-06-15 09:30:00", "2023-03-31 17:00:00", "2023-12-31 09:00:00", "2024-01-01",
                                  "2023-10-01 14:30:00", "2023-05-05", "2023-05-06", "2024-03-01 10:00:00"]),
    "event_date": moments(["2023-06-15", "2023-06-16", "2023-01-01", "2024-12-31", None, "2023-03-31", "2023-09-30",
                                  "2023-02-28", "2024-02-29", "2023-07-01", "2023-06-30", "2022-06-15", "2023-12-31"]),
})
WORLD_EDGES = pd.DataFrame({
    "s": ["Ann", "Ann", "Bob", "Cid", "Cid", "Dot", "Eve", "acc1", "acc1", "acc2", "acc3", "srv1", "srv1", "srv2", "ev1", "ev2",
          "Bob", "Bob", "Ann", "acc2", "Eve"],
    "d": ["Bob", "Cid", "Cid", "Dot", "Ann", "Eve", "acc1", "acc2", "acc3", "acc3", "acc1", "srv2", "Ann", "srv1", "ev2", "ev3",
          "Dot", "Dot", "Ann", "Eve", "srv2"],
    "type": ["FOLLOWS", "FOLLOWS", "FOLLOWS", "KNOWS", "FOLLOWS", "FRIEND", "owns", "transfer", "transfer", "transfer", "transfer",
             "connects", "connects", "connects", "next", "next", "FRIEND", "FRIEND", "KNOWS", "transfer", "connects"],
    "status": ["active", "active", "old", "active", "active", "old", "active", "active", "old", "active", "active", "active", "old",
               "active", "active", "active", "old", "active", "active", "old", "active"],
    "weight": [1.0, 0.2, 0.7, 6.0, 9.5, 3.0, 0.5, 7.5, 5.0, 8.0, None, 2.0, 6.5, 0.9, 1.0, 1.0, 4.0, 4.0, 0.1, 5.5, 7.0],
    "amount": [0, 0, 0, 0, 0, 0, 0, 12_000, 9_000, 50_000, 10_001, 0, 0, 0, 0, 0, 0, 0, 0, 700, 0],
    "org_id": [10, 10, 20, 20, 10, 20, 10, 10, 10, 20, 10, 20, 20, 20, 10, 20, 20, 20, 10, 20, 10],
    "risk": [3, 1, 5, 2, 3, 9, 4, 2, 6, 6, 1, 3, 0, 2, 4, 5, 5, 2, 1, 7, 4],
    "port": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 22, 443, 3389, 0, 0, 0, 0, 0, 0, 23],
    "timestamp": moments(["2023-01-02", "2023-12-31", "2024-01-01", "2022-01-01", "2023-06-01", "2023-06-30 23:59:59",
                                 "2023-03-01", "2024-01-15", "2024-02-01", "2023-11-11", "2024-01-16", "2020-02-29", "2023-07-07",
                                 "2021-01-01", "2023-05-05", "2023-05-06", "2023-08-08", "2023-08-09", "2022-02-02", "2024-05-05",
                                 "2023-09-09"]),
})

TRANSFER_NODES = pd.DataFrame({"id": [0, 1, 2, 3, 4, 5], "risk": ["low", "high", "low", "high", "low", "low"]})
TRANSFER_EDGES = pd.DataFrame({
    "src": [0, 0, 1, 1, 2, 3, 4, 5], "dst": [1, 2, 2, 3, 4, 4, 5, 0], "amount": [10, 20, 30, 40, 50, 60, 70, 80],
})
FRIEND_NODES = pd.DataFrame({"id": ["Alice", "Bob", "Cleo"], "type": ["person", "person", "person"], "age": [30, 25, 35]})
FRIEND_EDGES = pd.DataFrame({
    "source": ["Alice", "Bob", "Cleo", "Alice"], "destination": ["Bob", "Cleo", "Alice", "Cleo"],
    "weight": [1.0, 2.0, 3.0, 4.0], "type": ["friend", "colleague", "friend", "colleague"],
    "timestamp": moments(["2024-01-01", "2024-02-01", "2024-03-01", "2024-03-02"]),
})
EVENT_NODES = pd.DataFrame({
    "id": [0, 1, 2, 3], "user": ["ann", "bob", "ann", None], "product": ["cup", "pen", "bag", "pen"], "when": [1, 2, 3, 4],
})
EVENT_EDGES = pd.DataFrame({"from": [0, 1, 2], "to": [1, 2, 0], "kind": ["x", "y", "x"]})

# Name to nodes, id, edges, source, destination.
GRAPHS = {
    "risk": (RISK_NODES, "id", RISK_EDGES, "src", "dst"),
    "world": (WORLD_NODES, "id", WORLD_EDGES, "s", "d"),
    "transfers": (TRANSFER_NODES, "id", TRANSFER_EDGES, "src", "dst"),
    "friends": (FRIEND_NODES, "id", FRIEND_EDGES, "source", "destination"),
    "edges only": (None, None, FRIEND_EDGES, "source", "destination"),
    "events": (EVENT_NODES, "id", EVENT_EDGES, "from", "to"),
}

person, spam = {"type": "Person"}, {"type": "FOLLOWS"}
PEOPLE = [n(person), e_forward(spam)]
NOON = datetime(2023, 1, 1, 12)

# Patterns: the answer is a graph.
CHAINS = {
    "overview: nodes of a type": ("risk", [n({"type": "person"})]),
    "overview: two hops over some edges": ("risk", [n(), e_forward({"interesting": True}, hops=2)]),
    "overview: hops with names": ("risk", [n({"id": "a"}), e_undirected(name="hop1"), e_undirected(name="hop2")]),
    "overview: edges after a moment": ("risk", [n(), e_forward(edge_match={"timestamp": gt(pd.Timestamp("2023-01-01"))}), n()]),
    "overview: edges within days": ("risk", [n(), e_forward(edge_match={"timestamp": between(date(2023, 6, 1), date(2023, 6, 30))}), n()]),
    "overview: between risky nodes": ("risk", [
        n({"risk1": True}), e_forward(to_fixed_point=True), n({"type": "transaction"}, name="hit"),
        e_reverse(to_fixed_point=True), n({"risk2": True})]),
    "overview: one of several types": ("risk", [
        n({"type": is_in(["person", "company"])}), e_forward({"e_type": is_in(["owns", "reviews"])}, to_fixed_point=True),
        n({"type": is_in(["transaction", "account"])}, name="hit"), e_reverse(to_fixed_point=True), n({"risk2": True})]),
    "about: an edge alone": ("risk", [e_forward({"interesting": True})]),
    "about: two hops without a node": ("risk", [e_forward({"interesting": True}, hops=2)]),
    "overview: a graph after a graph": ("risk", [n({"type": "person"}), n({"age": ge(18)})]),
    "quick: two tests of a node": ("world", [n({"type": "Person", "age": gt(30)})]),
    "quick: a query text": ("world", [n(query="age > 30 and country == 'USA'")]),
    "quick: two hops over edges of a status": ("world", [n(), e_forward({"status": "active"}, hops=2), n()]),
    "quick: two to four hops, the last ones shown": ("world", [
        n({"id": "Ann"}), e_forward({"status": "active"}, min_hops=2, max_hops=4, label_edge_hops="edge_hop"), n()]),
    "quick: an edge's query text": ("world", [n(), e_forward(edge_query="weight > 5 and type == 'connects'"), n()]),
    "quick: ends by dictionary": ("world", [n(), e_forward(source_node_match={"status": "active"}, destination_node_match={"age": lt(30)}), n()]),
    "quick: ends by query text": ("world", [n(), e_forward(source_node_query="status == 'active'", destination_node_query="age < 30"), n()]),
    "quick: a name for edges": ("world", [n(), e_forward(name="active_edges"), n()]),
    "quick: membership": ("world", [n({"community": is_in(["A", "C"])})]),
    "quick: connected through active edges": ("world", [n({"type": "User"}), e_forward({"status": "active"}), n({"type": "account"})]),
    "quick: names along a path": ("world", [
        n({"id": "Ann"}, name="start"), e_forward(name="edge1"), n({"status": "active"}, name="middle"), e_forward(name="edge2"),
        n({"community": "B"}, name="end")]),
    "quick: all that is reachable": ("world", [n({"status": "infected"}), e_forward(to_fixed_point=True), n(name="reachable")]),
    "quick: several conditions": ("world", [n({"type": is_in(["server", "user"])}), e_undirected({"status": "active"}, hops=3), n(query="score >= 8")]),
    "quick: query texts everywhere": ("world", [
        n(query="age > 30 and country == 'USA'"), e_forward(edge_query="weight > 5"), n(query="status == 'active'")]),
    "quick: a traversal with all tests": ("world", [n(), e_forward(
        edge_query="type == 'FOLLOWS' and weight > 0.5", source_node_match={"status": "active"}, destination_node_query="age < 50",
        hops=2, name="social_edges"), n()]),
    "quick: a node with all parameters": ("world", [n(filter_dict={"country": "USA"}, query="age > 25 and score > 2", name="chosen")]),
    "quick: an edge with all parameters": ("world", [n(), e_reverse(
        edge_match={"type": "transfer"}, edge_query="amount > 100", source_node_match={"status": "active"},
        destination_node_match={"country": "FR"}, name="large"), n()]),
    "quick: paths between two nodes": ("world", [n({"id": "Ann"}), e_undirected(hops=3), n({"id": "Bob"})]),
    "quick: a range of ids": ("transfers", [n(query="1 <= id <= 3")]),
    "quick: edges with labels": ("world", [n(), e_forward({"type": is_in(["KNOWS", "FRIEND"])}), n()]),
    "quick: bridges between communities": ("world", [n({"community": "A"}), e_undirected(hops=2), n({"community": "B"}, name="bridge_nodes")]),
    "quick: texts on nodes and edges": ("world", [n(query="age >= 18"), e_forward(edge_query="type == 'connects'"), n(query="country == 'USA'")]),
    "remote: everything connected": ("world", [n(), e(), n()]),
    "remote: nodes and what touches them": ("world", [n(), e()]),
    "remote: edges alone": ("world", [e()]),
    "remote: nothing asked": ("world", []),
    "loading: people and their edges": ("world", [n(person), e_forward()]),
    "loading: two hops from high scores": ("world", [n({"score": gt(75)}), e_forward(hops=2)]),
    "loading: without a node table": ("edges only", [n(), e_forward({"type": "friend"}), n()]),
    "translate: person to company": ("risk", [n({"type": "person"}), e_forward(), n({"type": "company"})]),
    "translate: heavy edges": ("friends", [e_forward(edge_query="weight > 1.5")]),
    "translate: all friendship paths": ("friends", [
        n({"id": "Cleo"}), e_forward(source_node_query='type == "person"', edge_query='type == "friend"',
                                     destination_node_query='type == "person"', to_fixed_point=True), n({"id": "Bob"})]),
    "translate: edges since a moment": ("friends", [
        n({"id": is_in(["Alice", "Bob"])}), e_forward(edge_query='timestamp >= "2024-01-01 00:00:00"'), n({"id": is_in(["Alice", "Bob"])})]),
    "translate: targets of a list": ("friends", [n({"id": "Alice"}), e_forward(to_fixed_point=False), n({"id": is_in(["Bob", "Cleo"])})]),
    "where: a test of one step": ("world", [n({"score": gt(10)}, name="a"), e_forward(), n(name="b")]),
    "predicates: two nodes in a row": ("world", [n({"age": gt(18)}), n({"age": lt(31)})]),
    "predicates: part of a text": ("world", [e_forward({"type": contains("OLL")})]),
    "predicates: equality by name": ("world", [n({"type": eq("Person"), "age": gt(18)})]),
    "predicates: a query text with a remainder": ("world", [n(query="score > 50 and score % 2 == 0")]),
    "predicates: a range": ("world", [n({"age": between(19, 64)})]),
    "predicates: a range as text": ("world", [n(query="age > 18 and age < 65")]),
    "spec language: start, end, whole": ("world", [n({"name": startswith("Al")}), e(), n({"name": endswith("b")})]),
    "spec language: patterns": ("world", [n({"name": match("^[A-Z]")}), e(), n({"name": fullmatch("[a-z]+")})]),
    "spec language: not equal": ("world", [n({"country": ne("USA"), "score": le(55)})]),
    "spec language: nothing there": ("world", [n({"name": isna()}), e(), n({"rate": notna()})]),
    "spec language: null there": ("world", [n({"rate": isnull()}), e_forward(), n({"manager_id": notnull()})]),
    "spec wire: no case": ("world", [n({"name": startswith("ALI", case=False)})]),
    "spec wire: several beginnings": ("world", [n({"name": startswith(("web", "DB"))})]),
    "spec wire: unknown texts pass": ("world", [n({"name": endswith("zzz", na=True)})]),
    "spec wire: whole, no case": ("world", [n({"name": fullmatch("^db2$", case=False)})]),
    "spec wire: plain text": ("world", [n({"name": contains(".", regex=False)})]),
    "spec wire: hops with slices": ("world", [n(), e_forward(
        {"type": "FOLLOWS"}, min_hops=2, max_hops=4, label_edge_hops="edge_hop", source_node_match={"active": True}, name="txns"), n()]),
    "spec wire: a node, an edge, a node": ("world", [n({"id": "Ann"}), e_forward({"type": "FOLLOWS"}), n({"status": "active"})]),
    "spec wire: edges of a customer": ("world", [n({"id": "acc1"}), e_forward({"type": "transfer", "timestamp": gt(pd.Timestamp("2024-01-20"))})]),
    "spec wire: lateral movement": ("world", [
        n({"id": is_in(["srv1", "Eve"])}), e_forward(edge_query="port in [22, 23, 3389]", to_fixed_point=True),
        n({"type": "server", "critical": True})]),
    "spec cypher: a pattern": ("world", [n({"type": "Person", "age": gt(30)}, name="p"), e_forward({"type": "FOLLOWS"}, name="r"), n({"type": "Person"}, name="q")]),
    "spec cypher: friends of friends": ("world", [n({"id": "Bob"}), e_forward({"type": "FRIEND"}, min_hops=2, max_hops=2), n({"type": "User"}, name="fof")]),
    "spec cypher: large transfers": ("world", [
        n({"type": "account"}), e_forward({"type": "transfer", "amount": gt(10_000), "timestamp": gt(date(2024, 1, 1))}, name="t"),
        n({"type": is_in(["account", "user"])})]),
    "spec python: wrong level of names": ("world", [n({"active": True}, name="active_users"), e_forward({"status": "active"})]),
    "spec llm: reached in reverse": ("world", [n({"type": "account"}), e_reverse(), n({"type": "User"})]),
    "spec llm: exactly two hops": ("world", [n({"id": "Ann"}), e_forward(min_hops=2, max_hops=2), n()]),
    "spec llm: to critical nodes": ("world", [n({"flagged": True}), e_forward(to_fixed_point=True), n({"critical": True})]),
    "datetime: after a moment": ("world", [n(filter_dict={"created_at": gt(pd.Timestamp("2023-01-01 12:00:00"))})]),
    "datetime: edges of a year": ("world", [n(), e_forward(edge_match={"timestamp": between(datetime(2023, 1, 1), datetime(2023, 12, 31))}), n()]),
    "datetime: on a day": ("world", [n(filter_dict={"event_date": eq(date(2023, 6, 15))})]),
    "datetime: from a day on": ("world", [n(filter_dict={"event_date": ge(date(2023, 6, 15))})]),
    "datetime: at times": ("world", [n(filter_dict={"created_at": is_in([time(9, 0), time(9, 30), time(10, 0)])})]),
    "datetime: business hours": ("world", [n(filter_dict={"created_at": between(time(9, 0), time(17, 0))})]),
    "datetime: a zone": ("world", [n(filter_dict={"created_at": gt(pd.Timestamp("2023-01-01 07:00:00", tz="US/Eastern"))})]),
    "datetime: several conditions": ("world", [n(filter_dict={"created_at": gt(datetime(2023, 1, 1)), "status": eq("active"), "score": gt(5)})]),
    "datetime: values as objects": ("world", [n(filter_dict={"created_at": gt({"type": "datetime", "value": "2023-01-01T12:00:00", "timezone": "UTC"})})]),
    "datetime: days as objects": ("world", [n(filter_dict={"event_date": between({"type": "date", "value": "2023-01-01"}, {"type": "date", "value": "2023-12-31"})})]),
    "datetime: times as objects": ("world", [n(filter_dict={"created_at": is_in([{"type": "time", "value": "09:00:00"}, {"type": "time", "value": "12:00:00"}])})]),
    "datetime: then related nodes": ("world", [
        n(filter_dict={"type": eq("event"), "event_date": gt(date(2023, 6, 1))}), e_reverse(edge_match={"type": eq("next")}), n(filter_dict={"type": eq("event")})]),
    "datetime: a value with a zone": ("world", [n(filter_dict={"created_at": gt(DateTimeValue("2023-01-01T07:00:00", "US/Eastern"))})]),
    "datetime: values of days": ("world", [n(filter_dict={"event_date": between(DateValue("2023-01-01"), DateValue("2023-12-31"))})]),
    "datetime: values of times": ("world", [n(filter_dict={"created_at": is_in([TimeValue("09:00:00"), TimeValue("12:00:00")])})]),
    "datetime: a quarter": ("world", [n(filter_dict={"event_date": between(date(2023, 1, 1), date(2023, 3, 31))})]),
    "datetime: the last week": ("world", [n(filter_dict={"created_at": gt(pd.Timestamp(datetime(2024, 3, 3)) - pd.Timedelta(days=7))})]),
    "wire: amounts and logins": ("world", [
        n(), e_forward(edge_match={"timestamp": gt(datetime(2024, 1, 1)), "amount": gt(1000)}),
        n(filter_dict={"status": eq("active"), "created_at": between(datetime(2023, 1, 1), datetime(2023, 12, 31, 23, 59, 59))}),
        e_forward(edge_match={"type": eq("transfer"), "timestamp": gt(datetime(2024, 1, 1))})]),
    "wire: three kinds of time": ("world", Chain([n(filter_dict={
        "created_at": gt(pd.Timestamp("2023-01-01")), "event_date": between(date(2023, 3, 1), date(2023, 12, 30))})])),
    "wire: a time in London": ("world", [n(filter_dict={"created_at": ge(DateTimeValue("2023-06-15T10:30:00", "Europe/London"))})]),
    "wire: one time of day": ("world", [n(filter_dict={"created_at": eq(TimeValue("14:30:00"))})]),
    "indexing: one hop from seeds": ("transfers", [n({"id": is_in([0, 3])}), e_forward(), n()]),
    "docstring: a chain of two persons": ("risk", [n({"type": "person"}), e(), n({"type": "person"})]),
    "docstring: reached in many steps": ("risk", [n({"id": "a"}), e_forward(to_fixed_point=True), n({"type": "company"})]),
    "docstring: undirected with both ends": ("world", [n({"active": True}), e_undirected(source_node_match={"country": "USA"}, destination_node_match={"country": "FR"}), n()]),
    "docstring: two hops with labels": ("world", [n({"id": "Ann"}), e_forward(min_hops=1, max_hops=2, label_node_hops="node_hop", label_edge_hops="edge_hop"), n()]),
}
CHAINS.update({f"spec language: {test.__name__} of a text": ("world", [n({"name": test()})])
               for test in (isalpha, isnumeric, isdigit, isalnum, isupper, islower)})
CHAINS.update({f"spec language: {test.__name__}": ("world", [n({"event_date": test()})])
               for test in (is_month_start, is_month_end, is_quarter_start, is_quarter_end, is_year_start, is_year_end, is_leap_year)})

# Written in two ways that mean the same: the client loses edges of the first of two edge steps in a row, so its own
# answer is that of the second way.
SAME = {
    "translate: two hops away": ("friends", [n({"id": "Alice"}), e_forward(), e_forward(), n(name="m")],
                                 [n({"id": "Alice"}), e_forward(), n(), e_forward(), n(name="m")]),
}

# Conditions between the steps of a path: name to graph, steps and conditions.
WHERES = {
    "where: owner and organisation": ("world", [n({"type": "account"}, name="a"), e_forward(name="e"), n({"type": "user"}, name="c")],
                                      [compare(col("a", "owner_id"), "==", col("c", "owner_id")), compare(col("e", "org_id"), "==", col("a", "org_id"))]),
    "where: an edge against its source": ("world", [n(name="a"), e_forward(name="e"), n(name="b")],
                                          [compare(col("a", "org_id"), "==", col("b", "org_id")), compare(col("e", "risk"), ">=", col("a", "min_risk"))]),
    "where: greater than the next": ("world", [n(name="a"), e_forward(name="e"), n(name="b")], [compare(col("a", "score"), ">", col("b", "score"))]),
    "where: two edges alike": ("world", [n(name="n1"), e_forward(name="e1"), n(name="n2"), e_forward(name="e2"), n()],
                               [compare(col("n1", "age"), ">", col("n2", "score")), compare(col("e1", "org_id"), "==", col("e2", "org_id"))]),
    "overview: account and owner": ("world", [n({"type": "account"}, name="a"), e_forward(), n({"type": "user"}, name="c")],
                                    [compare(col("a", "owner_id"), "==", col("c", "owner_id"))]),
    "quick: with an edge test": ("world", [n({"type": "account"}, name="a"), e_forward({"status": "active"}, name="e"), n({"type": "account"}, name="u")],
                                 [compare(col("a", "org_id"), "!=", col("u", "org_id"))]),
    "datetime: earlier than the next": ("world", [n({"type": "event"}, name="a"), e_forward(name="e"), n({"type": "event"}, name="b")],
                                        [compare(col("a", "created_at"), "<", col("b", "created_at"))]),
    "spec wire: at most": ("world", [n(name="a"), e_forward(name="e"), n(name="c")], [compare(col("a", "owner_id"), "<=", col("c", "owner_id"))]),
}

# Calls of rows: the answer is a table; True when it has an order.
TABLES = {
    "overview: top people": ("world", PEOPLE + [
        n({"type": "Person", "score": gt(0)}, name="p"), rows(table="nodes", source="p"), where_rows(expr="score >= 50"),
        return_(["id", "name", "score"]), order_by([("score", "desc"), ("name", "asc")]), limit(10)], True),
    "quick: a bucket": ("world", PEOPLE + [
        n({"type": "Person", "score": gt(10)}, name="p"), rows(table="nodes", source="p"),
        where_rows(expr="score >= 50 AND name STARTS WITH 'A'"), return_(["id", "name", ("score_bucket", "score / 10")]),
        order_by([("score_bucket", "desc"), ("name", "asc")]), limit(25)], True),
    "return: rows of nodes": ("world", [
        n(person, name="p"), e_forward(name="r"), n(name="q"), rows(table="nodes", source="p"), return_(["id", "name", "score"]),
        order_by([("id", "asc")])], True),
    "return: rows of edges": ("world", [
        n(name="a"), e_forward(spam, name="r"), n(name="b"), rows(table="edges", source="r"), return_(["s", "d", "type", "weight"])], False),
    "return: a condition with text and null": ("world", [
        n(person, name="p"), rows(table="nodes", source="p"),
        where_rows(expr="score >= 50 AND name STARTS WITH 'A' AND manager_id IS NOT NULL"), return_(["id", "name", "score", "manager_id"])], False),
    "return: with": ("world", [
        n(person, name="p"), rows(table="nodes", source="p"), with_(["id", ("score2", "score * 2"), ("person_name", "name")]),
        where_rows(expr="score2 >= 100"), return_(["id", "person_name", "score2"])], False),
    "return: select": ("world", [
        n(person, name="p"), rows(table="nodes", source="p"), select([("person_id", "id"), ("score2", "score * 2")])], False),
    "where: rows with a text inside": ("world", [
        n(name="a"), e_forward(name="e"), n(name="b"), rows(table="nodes", source="b"),
        where_rows(expr="score >= 10 AND name CONTAINS 'li'"), return_(["id", "name", "score"])], False),
    "datetime: rows by two columns": ("world", [
        n({"type": "event"}, name="evt"), rows(table="nodes", source="evt"), where_rows(expr="created_at < event_date"),
        return_(["id", "created_at", "event_date"])], False),
    "spec language: named columns": ("world", [
        n(person, name="p"), e_forward(spam), n(person, name="q"), rows(table="nodes", source="q"), where_rows(expr="score >= 50"),
        return_([("id", "id"), ("name", "name"), ("score", "score")]), order_by([("score", "desc"), ("name", "asc")]), limit(25)], True),
    "spec language: a chain object": ("world", Chain([
        n(person, name="p"), e_forward(spam), n(person, name="q"), rows(table="nodes", source="q"), where_rows(expr="score >= 50"),
        return_(["id", "name", "score"])]), False),
    "spec wire: skip and limit": ("world", [rows(table="nodes"), order_by([("score", "desc"), ("name", "asc")]), skip(2), limit(3)], True),
    "spec wire: distinct": ("world", [rows(table="nodes"), select([("country", "country"), ("active", "active")]), distinct()], False),
    "spec wire: unwind": ("world", [rows(table="nodes"), select([("id", "id"), ("tags", "tags")]), unwind("tags", as_="tag"), select([("id", "id"), ("tag", "tag")])], False),
    "spec wire: groups": ("world", [rows(table="nodes"), group_by(["country"], [["cnt", "count"], ["total", "sum", "score"]])], False),
    "spec cypher: money by kind": ("world", [
        n({"type": "account"}), e_forward({"type": "transfer", "timestamp": gt(date(2023, 11, 1))}, name="t"), rows(table="edges", source="t"),
        where_rows(expr="amount IS NOT NULL"), group_by(keys=["status"], aggregations=[("cnt", "count", "amount"), ("total", "sum", "amount")]),
        return_(["status", "cnt", "total"]), order_by([("total", "desc")]), limit(10)], True),
    "spec python: a count by type": ("world", [rows(table="nodes"), group_by(keys=["type"], aggregations=[("cnt", "count")])], False),
}

# Tests in the dictionary of `where_rows`: the client's own engine takes objects that it cannot send, and the documented
# JSON matches nothing there. Name to graph, the local steps and the steps as they are documented on the wire.
TESTS_OF_ROWS = {
    "datetime: rows by a dictionary": ("world", [
        n({"type": "event"}, name="evt"), rows(table="nodes", source="evt"),
        where_rows(filter_dict={"created_at": lt(pd.Timestamp("2024-01-01T00:00:00Z"))}), return_(["id", "created_at"])],
        {"created_at": {"type": "LT", "val": {"type": "datetime", "value": "2024-01-01T00:00:00", "timezone": "UTC"}}}),
    "spec wire: a dictionary of tests": ("world", [
        rows(table="nodes"), where_rows(filter_dict={"score": ge(50)}), select([("id", "id"), ("score", "score")])],
        {"score": {"type": "GE", "val": 50}}),
}

# Named results.
LETS = {
    "overview: persons and adults": ("risk", let({
        "persons": n({"type": "person"}), "adults": ref("persons", [n({"age": ge(18)})]),
        "connections": [n({"type": "person", "age": ge(18)}), e_forward({"e_type": "knows"}), n()]})),
    "quick: suspects and their edges": ("world", let({
        "suspects": n({"score": gt(50)}), "connections": [n({"score": gt(50)}), e_forward({"type": "FOLLOWS"}), n()]})),
    "quick: references of references": ("world", let({
        "high_value": n({"score": gt(50)}),
        "large_transfers": [n({"score": gt(5)}), e_forward({"type": "transfer", "amount": gt(10_000)}), n()],
        "suspicious": ref("large_transfers", [n({"flagged": True, "critical": False})])})),
    "spec wire: nested": ("world", let({
        "stage1": let({"people": n(person), "friends": ref("people", [e_forward(), n()])}), "stage2": ref("stage1", [e_forward(), n()])})),
    "spec wire: a weight and a status": ("world", let({
        "base_graph": [n(), e_forward(), n()], "out": ref("base_graph", [e_forward({"weight": gt(0.5)}), n({"status": "active"})])})),
    "spec python: the reference alone": ("world", let({"base": n({"status": "active"}), "extended": ref("base", [n()])})),
    "spec python: verified suspects": ("world", let({"suspects": n({"score": gt(8)}), "verified": ref("suspects", [n({"active": True})])})),
    "spec python: lateral movement": ("world", let({
        "lateral_movement": [n({"score": ge(0)}), e_forward({"type": "connects", "port": gt(5)}), n({"type": "server"})]})),
    "calls: degrees, then a filter": ("world", let({"with_degrees": call("get_degrees", {"col": "degree"}), "filtered": ref("with_degrees", [n({"degree": gt(3)})])})),
    "calls: degrees under other names": ("world", let({
        "enriched": call("get_degrees", {"col": "total", "degree_in": "incoming", "degree_out": "outgoing"}), "filtered": ref("enriched", [n({"total": gt(4)})])})),
    "calls: filter, degrees, steps": ("world", let({
        "persons": [n(person), e(), n()], "with_degrees": ref("persons", [call("get_degrees", {"col": "degree"})]),
        "high_degree": ref("with_degrees", [n({"degree": gt(4)})]), "connected": ref("with_degrees", [n({"degree": gt(4)}), e_forward(), n()])})),
    "calls: a hypergraph and its users": ("events", let({"hg": hypergraph(entity_types=["user", "product"]), "filtered": ref("hg", [n({"type": "user"})])})),
}

# Built-in calls.
CALLS = {
    "calls: filter and degrees": ("world", [call("filter_nodes_by_dict", {"filter_dict": person}), call("get_degrees", {"col": "degree"})]),
    "calls: all degrees": ("world", [call("get_degrees", {"col": "total_degree", "degree_in": "in_degree", "degree_out": "out_degree"})]),
    "calls: degrees in": ("world", [call("get_indegrees", {"col": "incoming_connections"})]),
    "calls: degrees out": ("world", [call("get_outdegrees", {"col": "outgoing_connections"})]),
    "calls: levels": ("risk", [call("filter_edges_by_dict", {"filter_dict": {"interesting": True}}), call("get_topological_levels", {"level_col": "topo_level", "allow_cycles": False})]),
    "calls: levels around cycles": ("world", [call("get_topological_levels", {"warn_cycles": False})]),
    "calls: levels with loops": ("world", [call("get_topological_levels", {"remove_self_loops": False})]),
    "calls: filter by two columns": ("world", [call("filter_nodes_by_dict", {"filter_dict": {"type": "server", "status": "active"}})]),
    "calls: filter of edges": ("world", [call("filter_edges_by_dict", {"filter_dict": {"weight": 4.0, "type": "FRIEND"}})]),
    "calls: a hop": ("world", [call("hop", {"hops": 2, "direction": "forward"})]),
    "calls: a hop to a fixed point": ("world", [call("hop", {"to_fixed_point": True, "direction": "undirected"})]),
    "calls: a hop with tests": ("world", [call("hop", {"hops": 3, "edge_match": {"type": "FOLLOWS"}, "destination_node_match": {"status": "active"}})]),
    "calls: a hop after a step": ("world", [n({"type": "server"}), call("hop", {"hops": 2, "direction": "forward"})]),
    "calls: nodes to drop": ("world", [call("drop_nodes", {"nodes": ["Ann", "srv1"]})]),
    "calls: nodes to keep": ("world", [call("keep_nodes", {"nodes": ["Ann", "Bob", "Cid"]})]),
    "calls: nodes to keep by column": ("world", [call("keep_nodes", {"nodes": {"id": ["Eve", "acc1"]}})]),
    "calls: nodes from edges": ("edges only", [call("materialize_nodes")]),
    "calls: loops to prune": ("world", [call("prune_self_edges")]),
    "calls: an index": ("transfers", [call("create_index", {"kind": "edge_out_adj"}), n({"id": 0}), e_forward(), n()]),
    "calls: colours of categories": ("world", [call("encode_point_color", {"column": "country", "categorical_mapping": {"USA": "blue", "FR": "green"}})]),
    "calls: colours of numbers": ("world", [call("encode_point_color", {"column": "score", "palette": ["green", "yellow", "red"], "as_continuous": True})]),
    "calls: colours of edges": ("world", [call("encode_edge_color", {"column": "type", "categorical_mapping": {"FRIEND": "blue"}, "default_mapping": "gray"})]),
    "calls: sizes": ("world", [call("encode_point_size", {"column": "status", "categorical_mapping": {"active": 10, "closed": 40}})]),
    "calls: icons": ("world", [call("encode_point_icon", {"column": "type", "categorical_mapping": {"server": "server"}, "default_mapping": "question"})]),
    "calls: icons by value": ("world", [call("encode_point_icon", {"column": "score", "continuous_binning": [[10, "a"], [None, "b"]]})]),
    "calls: titles, labels and weights": ("world", [
        call("encode_point_title", {"column": "name"}), call("encode_edge_label", {"column": "type"}), call("encode_edge_weight", {"column": "weight"}),
        call("encode_point_opacity", {"column": "rate"})]),
    "calls: a name and a description": ("world", [call("name", {"name": "Network"}), call("description", {"description": "ranked"})]),
    "calls: a hypergraph": ("events", [hypergraph(entity_types=["user", "product"])]),
    "calls: a hypergraph with its events": ("events", [hypergraph(entity_types=["user", "product"], direct=False)]),
    "calls: a hypergraph by name": ("events", [call("hypergraph", {"entity_types": ["user", "product"]})]),
    "calls: a hypergraph with options": ("events", [hypergraph(entity_types=["user", "product", "when"], opts={
        "TITLE": "shown", "SKIP": ["id"], "CATEGORIES": {"who": ["user"]}, "EDGES": {"user": ["product", "when"], "product": ["user"]}})]),
    "calls: a hypergraph of edges": ("events", [hypergraph(from_edges=True, entity_types=["from", "to"])]),
    "calls: a hypergraph within a chain": ("events", [n({"user": "ann"}), hypergraph(entity_types=["user", "product"]), n({"type": "product"})]),
}

# Algorithms that the client computes with igraph: name to the call and the column.
IGRAPH = {
    "calls: pagerank": ("risk", {"alg": "pagerank", "out_col": "pr", "params": {"damping": 0.85}}, "pr"),
    "calls: pagerank under its own name": ("world", {"alg": "pagerank"}, "pagerank"),
}

# Cypher that the client compiles; the answer is a table with an order.
CYPHER = {
    "quick: ends by name": "MATCH (a:Person)-[e:FOLLOWS]->(b:Person) RETURN a.name AS source_name, b.name AS target_name ORDER BY source_name, target_name LIMIT 3",
    "cypher: names in order": "MATCH (p:Person) RETURN p.name AS name ORDER BY name DESC LIMIT 5",
    "return: the best": "MATCH (p:Person)-[:FOLLOWS]->(q:Person) WHERE q.score >= 50 RETURN q.id AS id, q.name AS name, q.score AS score ORDER BY score DESC, name ASC LIMIT 25",
    "translate: degree by source": "MATCH (x)-[r]->() RETURN x.id AS node_id, count(r) AS out_degree ORDER BY out_degree DESC, node_id",
    "spec cypher: totals": "MATCH (u)-[t:transfer]->(m) WHERE t.amount > 1000 RETURN t.status AS status, count(*) AS cnt, sum(t.amount) AS total ORDER BY total DESC LIMIT 10",
    "spec cypher: two conditions of a path": "MATCH (x)-[a]->(y)-[b]->(z) WHERE x.age > y.age AND a.org_id = b.org_id RETURN x.id AS x, z.id AS z ORDER BY x, z",
    "spec cypher: friends of friends": "MATCH (u {id: 'Bob'})-[:FRIEND*2]->(f) WHERE f.active = false RETURN f.id AS id ORDER BY id",
    "remote: properties of both ends": "MATCH (a)-[r]->(b) WHERE a.score > 10 RETURN a.id AS a, b.id AS b, r.type AS type ORDER BY a, b, type",
    "docstring: a search": "MATCH (p) WHERE searchAny(p, 'al') RETURN p.id AS id ORDER BY id",
}
# Graphs by Cypher: the client makes operations of them.
GRAPH_TEXTS = {
    "overview: a subgraph": ("risk", "GRAPH { MATCH (a)-[e]->(b) WHERE e.interesting = true }"),
    "translate: nodes as a graph": ("risk", "GRAPH { MATCH (p {type: 'person'}) }"),
    "translate: edges as a graph": ("risk", "GRAPH { MATCH (p {type: 'person'})-[e]->(c {type: 'company'}) }"),
    "translate: two hops as a graph": ("friends", "GRAPH { MATCH (p {id: 'Alice'})-->()-->(m) }"),
    "remote: scores as a graph": ("world", "GRAPH { MATCH (a)-[r]->(b) WHERE a.score > 10 }"),
    "cypher: either way": ("world", "GRAPH { MATCH (seed)-[reach]-(nbr) WHERE seed.score >= 60 }"),
}
# Several stages: named graphs, procedures and a table at the end.
STAGES = {
    "remote: stages": ("world", "GRAPH g1 = GRAPH { MATCH (a)-[r]->(b) WHERE a.score > 10 } GRAPH g2 = GRAPH { USE g1 CALL graphistry.degree.write() } "
                                "USE g2 MATCH (v) RETURN v.id AS id, v.degree AS degree ORDER BY degree DESC, id"),
    "cypher: a stage and a table": ("world", "GRAPH g1 = GRAPH { MATCH (seed)-[reach]-(nbr) WHERE seed.score >= 60 } USE g1 MATCH (v) RETURN v.id AS id, v.score AS score ORDER BY score DESC, id LIMIT 5"),
    "translate: enriched in one go": ("world", "GRAPH g1 = GRAPH { CALL graphistry.degree.write() } USE g1 MATCH (v) RETURN v.id AS node_id, v.degree_out AS out_degree ORDER BY out_degree DESC, node_id LIMIT 10"),
}

# Queries that the documentation shows as mistakes: name to graph, query and the code.
MISTAKES = {
    "calls: not on the list": ("world", [{"type": "Call", "function": "invalid_function", "params": {}}], "invalid-node-reference"),
    "calls: an algorithm is no call": ("world", [{"type": "Call", "function": "pagerank", "params": {}}], "invalid-node-reference"),
    "calls: a parameter is missing": ("world", [{"type": "Call", "function": "filter_nodes_by_dict", "params": {}}], "missing-required-field"),
    "calls: a parameter of the wrong type": ("world", [{"type": "Call", "function": "hop", "params": {"hops": "two"}}], None),
    "quick: a parameter that does not exist": ("world", [{"type": "Call", "function": "fa2_layout", "params": {"iterations": 100}}], "invalid-node-reference"),
    "spec python: text for a number": ("world", [{"type": "Node", "filter_dict": {"age": "twenty"}}], "incompatible-column-type"),
    "spec python: text test of a number": ("world", [{"type": "Node", "filter_dict": {"age": {"type": "Contains", "pat": "3"}}}], "incompatible-column-type"),
    "spec python: hops below nothing": ("world", [{"type": "Edge", "direction": "forward", "hops": -1}], "invalid-hops-value"),
    "where: a name that no step has": ("world", {"type": "Chain", "chain": [
        {"type": "Node", "name": "a"}, {"type": "Edge", "direction": "forward", "name": "e"}, {"type": "Node", "name": "c"}],
        "where": [{"eq": {"left": "missing.x", "right": "c.owner_id"}}]}, "unsupported-cypher-query"),
    "where: a column that is missing": ("world", {"type": "Chain", "chain": [
        {"type": "Node", "name": "a"}, {"type": "Edge", "direction": "forward", "name": "e"}, {"type": "Node", "name": "c"}],
        "where": [{"eq": {"left": "a.missing_col", "right": "c.owner_id"}}]}, None),
    "spec wire: an operator that is missing": ("world", {"type": "Chain", "chain": [
        {"type": "Node", "name": "a"}, {"type": "Edge", "direction": "forward"}, {"type": "Node", "name": "c"}],
        "where": [{"lte": {"left": "a.owner_id", "right": "c.owner_id"}}]}, None),
    "spec wire: half a condition": ("world", {"type": "Chain", "chain": [
        {"type": "Node", "name": "a"}, {"type": "Edge", "direction": "forward"}, {"type": "Node", "name": "c"}],
        "where": [{"eq": {"left": "a.owner_id"}}]}, None),
    "spec wire: rows of nothing": ("world", [{"type": "Call", "function": "rows", "params": {"table": "invalid"}}], "type-mismatch"),
    "spec wire: a condition that is a number": ("world", [{"type": "Call", "function": "where_rows", "params": {"expr": 123}}], "type-mismatch"),
    "spec wire: an order that is none": ("world", [{"type": "Call", "function": "order_by", "params": {"keys": [["score", "up"]]}}], "type-mismatch"),
    "spec wire: groups of nothing": ("world", [{"type": "Call", "function": "group_by", "params": {"keys": [], "aggregations": []}}], "type-mismatch"),
    "spec llm: a level that is missing": ("world", [{"type": "Call", "function": "ring_categorical_layout", "params": {"num_rings": 5}}], "invalid-node-reference"),
}
