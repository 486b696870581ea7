"""What the tests of the tool endpoint share: a small graph of alice, her open page, an agent on it."""

import json
import secrets

import pytest
from agent import Agent, OpenPage

NODES = [{"type": "Node"}]
# What `/mcp` lists, which are the tools of the specification, and what `/mcp/x/all` lists.
TOOLS = ["list_sessions", "get_session_info", "query_graph", "create_collection", "list_collections",
         "update_collection", "delete_collection", "reorder_collections", "reset_collections"]
ALL_TOOLS = [*TOOLS, "get_picture"]


def kind(value):
    return json.dumps([{"type": "Node", "filter_dict": {"kind": value}}])


@pytest.fixture(scope="module")
def small(server):
    """Six nodes of kinds x and y in a ring, a dataset of alice that everybody may see."""
    alice = server.api("alice")
    nodes = alice.file(b"id,kind,n\na,x,1\nb,y,2\nc,x,3\nd,y,4\ne,x,5\nf,y,6\n", "csv")
    edges = alice.file(b"s,d,w\na,b,1\nb,c,2\nc,d,3\nd,e,4\ne,f,5\nf,a,6\n", "csv")
    return alice.dataset([edges["file_id"]], [nodes["file_id"]], nodes={"node": "id"}, name="Ring",
                         description="Six in a ring")


@pytest.fixture(scope="module")
def key(accounts):
    return ":".join(accounts["key"])


@pytest.fixture(scope="module")
def page(server, small):
    # A name as the server makes it leads whoever may see the dataset to it.
    with OpenPage(server, small, secrets.token_hex(16), server.token("alice")) as page:
        yield page


@pytest.fixture
def agent(server, key):
    return Agent(server, key)


@pytest.fixture
def on(page, agent):
    """The agent's tools on alice's open page, which has no collections yet."""
    agent.call("reset_collections", session_id=page.session)
    return lambda tool, **a: agent.call(tool, session_id=page.session, **a)
