"""A server with an administrator, and login links by hand: what the tests of links share."""

import http.client
import socket
from urllib.parse import urlsplit

import requests
from conftest import HANG_S, PASSWORD, Server, run_cli

EDGES = b"s,d\n" + b"".join(b"n%d,n%d\n" % (i, (i + 1) % 60) for i in range(60))


def admin_server(data, *extra, env=None, users=()):
    """A server whose first start makes the superuser `admin`; `users` are (name, role) to add before."""
    if users:
        run_cli("user", "add", "admin", "--password-stdin", "--role", "admin", "--data", data, input=PASSWORD + "\n")
    for name, role in users:
        run_cli("user", "add", name, "--password-stdin", "--role", role, "--data", data, input=PASSWORD + "\n")
    return Server(data, *extra, env=env)


def ring(api, private=True):
    """A dataset with a ring of 60 nodes, by default for its author alone."""
    dataset = api.dataset([api.file(EDGES, "csv")["file_id"]])
    if private:
        r = api("POST", "/api/v2/share/link/", json={"obj_pk": dataset, "obj_type": "dataset", "mode": "private"})
        assert r.status_code == 200, r.text
    return dataset


def mint(api, dataset, username="guest"):
    """The address of a fresh link."""
    r = api("GET", "/api/v2/generate/single-use-url/", params={"username": username, "dataset_id": dataset})
    assert r.status_code == 200, r.text
    assert set(r.json()) == {"single_use_url"}
    return r.json()["single_use_url"]


def visit(link, method="GET", **headers):
    """One visit of a link as a browser makes it, without following it."""
    headers = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", **headers}
    return requests.request(method, link, headers=headers, allow_redirects=False, timeout=HANG_S)


def jar(reply):
    """The cookies that an answer sets."""
    return requests.utils.dict_from_cookiejar(reply.cookies)


def set_cookies(reply):
    """Every Set-Cookie header, unparsed, by the cookie's name."""
    lines = reply.raw.headers.getlist("set-cookie")
    return {line.split("=", 1)[0]: line for line in lines}


def request_bytes(link, host):
    path = urlsplit(link)
    return f"GET {path.path}?{path.query} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n\r\n".encode()


def connect(server):
    s = socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def status_of(sock):
    """The status of the next answer on a socket, its body read; None when the connection ended instead."""
    try:
        response = http.client.HTTPResponse(sock)
        response.begin()
        response.read()
        return response.status
    except (OSError, http.client.HTTPException):
        return None
