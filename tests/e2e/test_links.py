"""Single-use login links, end to end.

| promise | held by |
|---|---|
| who mints one, and what is said about wrong arguments | `test_minting_is_for_administrators_and_names_what_is_wrong` |
| the first visit signs in, later ones do not | `test_a_link_signs_in_once`, in a browser `test_a_person_follows_the_link_on_a_page_of_mail` |
| looking does not use a link up | `test_scanners_and_prefetches_leave_the_link_alone` |
| of many visits at once exactly one signs in | `test_a_hundred_visits_at_once_sign_in_once`, `test_pipelined_visits_sign_in_once`; \
in one process `of_many_visits_at_once_one_signs_in` |
| a use that was answered is never forgotten | `test_a_killed_server_never_lets_in_twice` |
| lives: 3,599 / 3,600 / 3,601 seconds, seven days | `shell/service/src/tests/links.rs`; a short life by the clock in \
`test_link_settings.py` |
| settings by variable, flag and file; what is refused at the start | `test_link_settings.py` |
| a guest reads one dataset on every route that there is (rows: `guest_routes.py`) | `test_every_route_for_a_guest`, `test_the_tools_for_a_guest` |
| a cookie changes nothing and needs its origin | `test_a_cookie_opens_pages_and_nothing_else` |
| a logout ends everything at once and for good | `test_a_logout_ends_everything`, \
`test_a_logout_survives_a_kill`, `test_nothing_that_races_a_logout_succeeds_later`; `shell/service/src/tests/logout.rs` |
| disabled accounts | `test_a_disabled_account_lets_nobody_in`; `shell/service/src/tests/links.rs` |
| every step is in the log, and no secret anywhere | `test_the_log_has_every_step_and_no_secret` |
"""

import concurrent.futures
import json
import random
import re
import threading
import time

import pytest
import requests
from agent import Agent, OpenPage
from conftest import HANG_S, browser, run_cli, unique, until
from guest_routes import SCOPE, Place
from link_rig import admin_server, connect, jar, mint, request_bytes, ring, set_cookies, status_of, visit
from live import Viewer
from websockets.exceptions import ConnectionClosed, InvalidStatus

ABSENT = "0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A server with administrators, staff and two ordinary accounts."""
    data = tmp_path_factory.mktemp("links") / "data"
    users = [("staff", "staff"), ("alice", "user"), ("bob", "user")]
    s = admin_server(data, users=users).start()
    yield s
    assert s.stop() == 0, s.output()


@pytest.fixture
def admin(house):
    return house.api()


@pytest.fixture
def dataset(house):
    return ring(house.api("alice"))


@pytest.fixture
def guest(admin, dataset):
    """The cookies of somebody who was let in."""
    return jar(visit(mint(admin, dataset, unique("guest"))))


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def test_minting_is_for_administrators_and_names_what_is_wrong(house, admin, dataset):
    path = f"/api/v2/generate/single-use-url/?username=guest&dataset_id={dataset}"
    staff = house.api("staff")
    assert staff("GET", path).status_code == 404, "staff let in to what they may see themselves"
    shared = path.replace(dataset, ring(house.api("alice"), private=False))
    for api, address in ((admin, path), (staff, shared)):
        r = api("GET", address)
        assert r.status_code == 200, r.text
        assert re.fullmatch(re.escape(house.url) + r"/magic-login/\?sst=[A-Za-z0-9_-]{43}", r.json()["single_use_url"])
    for name in ("alice", "bob"):
        assert house.api(name)("GET", path).status_code == 403, "not even for a dataset of one's own"
    assert requests.get(house.url + path).status_code == 401
    assert requests.get(house.url + path, cookies={"graphlume_jwt": house.token()}).status_code == 401
    for query, status, field in [("", 400, "username"), ("username=g", 400, "dataset_id"),
                                 (f"dataset_id={dataset}", 400, "username"),
                                 (f"username=a%20b&dataset_id={dataset}", 400, "username"),
                                 (f"username=g&dataset_id={ABSENT}", 404, "dataset_id"),
                                 ("username=g&dataset_id=../x", 404, "dataset_id")]:
        r = admin("GET", f"/api/v2/generate/single-use-url/?{query}")
        assert (r.status_code, r.json()["field"]) == (status, field), r.text
        assert r.json()["message"] and r.json()["success"] is False


def test_a_link_signs_in_once(house, admin, dataset):
    link = mint(admin, dataset)
    r = visit(link)
    assert (r.status_code, r.headers["location"]) == (302, f"/graph/graph.html?dataset={dataset}")
    assert (r.headers["referrer-policy"], r.headers["cache-control"]) == ("no-referrer", "no-store")
    lines = set_cookies(r)
    assert set(lines) == {"sessionid", "csrftoken", "graphlume_jwt"}
    assert "HttpOnly" in lines["sessionid"] and "HttpOnly" in lines["graphlume_jwt"]
    cookies = jar(r)
    for name in ("sessionid", "graphlume_jwt"):
        page = requests.get(house.url + r.headers["location"], cookies={name: cookies[name]})
        assert page.status_code == 200 and "session=" in page.url, name
        session = re.search(r"session=(\w+)", page.url).group(1)
        headers = {"Cookie": f"{name}={cookies[name]}", "Origin": house.url}
        viewer = Viewer(house, dataset, session, headers=headers)
        viewer.until(lambda: viewer.frames)
        assert viewer.graph["node_count"] == 60
        viewer.close()
    again = visit(link)
    assert again.status_code == 410 and again.headers["content-type"].startswith("text/html")
    assert "used already" in again.text and link.split("=")[1] not in again.text
    assert (again.headers["referrer-policy"], again.headers["cache-control"]) == ("no-referrer", "no-store")
    assert not again.cookies
    unknown = visit(link[:-1] + ("A" if link[-1] != "A" else "B"))
    assert unknown.status_code == 404 and "not valid any more" in unknown.text


@pytest.mark.parametrize("same_site", ["Lax", "Strict"])
def test_a_person_follows_the_link_on_a_page_of_mail(tmp_path, same_site):
    server = admin_server(tmp_path / "data", env={"COOKIE_SAMESITE": same_site}).start()
    dataset = ring(server.api())
    seen = browser("link.mjs", mint(server.api(), dataset), tmp_path / "page.png")
    assert (seen["nodes"], seen["edges"]) == (60, 60) and seen["lit"] > 0.0005, seen
    assert f"dataset={dataset}" in seen["url"] and "session=" in seen["url"]
    assert "sst" not in seen["url"] and "sst" not in seen["referrer"]
    flags = {c["name"]: (c["httpOnly"], c["sameSite"]) for c in seen["cookies"]}
    assert flags == {"sessionid": (True, same_site), "graphlume_jwt": (True, same_site), "csrftoken": (False, same_site)}
    assert seen["script"].startswith("csrftoken=") and ";" not in seen["script"], "secrets are not for scripts"
    assert seen["again"]["status"] == 410 and "used already" in seen["again"]["text"]
    # Strict cookies do not come along on the way from another site: the page's own script is let in with them.
    assert [e for e in seen["errors"] if same_site == "Lax" or "404" not in e] == [], seen["errors"]
    server.stop()


LOOKS = [("HEAD", {}), ("HEAD", {"Sec-Fetch-Dest": "document"}), ("OPTIONS", {}), ("POST", {}),
         ("GET", {"Purpose": "prefetch"}), ("GET", {"purpose": "Prefetch"}), ("GET", {"Sec-Purpose": "prefetch"}),
         ("GET", {"Sec-Purpose": "prefetch;prerender"}), ("GET", {"X-Moz": "prefetch"}),
         *(("GET", {"Sec-Fetch-Dest": d}) for d in ("empty", "image", "iframe", "frame", "embed", "object", "script"))]


def test_scanners_and_prefetches_leave_the_link_alone(admin, dataset):
    link = mint(admin, dataset)
    absent = link.split("=")[0] + "=" + "A" * 43
    for method, headers in LOOKS * 2:
        looks = [visit(address, method, **headers) for address in (link, absent)]
        for r in looks:
            assert r.status_code not in (301, 302, 303, 307, 308) and not r.cookies, (method, headers, r.status_code)
            assert (r.headers["referrer-policy"], r.headers["cache-control"]) == ("no-referrer", "no-store")
        assert looks[0].status_code == looks[1].status_code, "looking tells nothing about a link"
        hide = re.compile(r"[0-9a-f]{16}")
        assert hide.sub("", looks[0].text) == hide.sub("", looks[1].text)
    assert visit(link, **{"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"}).status_code == 302


CONNECTIONS, RACES = 100, 50


def test_a_hundred_visits_at_once_sign_in_once(house, admin, dataset):
    links = [mint(admin, dataset, f"racer{i % 5}") for i in range(RACES)]
    seen = []
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for link in links:
            message = request_bytes(link, house.server)
            socks = [connect(house) for _ in range(CONNECTIONS)]
            for s in socks:
                s.sendall(message[:-1])
            go = threading.Barrier(4)

            def release(part):
                go.wait()
                for s in part:
                    s.sendall(message[-1:])

            list(pool.map(release, [socks[i::4] for i in range(4)]))
            statuses = sorted(status_of(s) for s in socks)
            assert statuses == [302] + [410] * (CONNECTIONS - 1), statuses
            seen += statuses
            for s in socks:
                s.close()
    assert (seen.count(302), seen.count(410)) == (RACES, RACES * (CONNECTIONS - 1))


def test_pipelined_visits_sign_in_once(house, admin, dataset):
    for _ in range(10):
        link = mint(admin, dataset)
        message = request_bytes(link, house.server)
        last = message.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        socks = [connect(house) for _ in range(4)]
        for s in socks:
            s.sendall(message * 9 + last)
        statuses = []
        for s in socks:
            raw = b"".join(iter(lambda: s.recv(65536), b""))
            statuses += re.findall(rb"HTTP/1\.1 (\d+) ", raw)
            s.close()
        assert sorted(statuses) == [b"302"] + [b"410"] * 39, statuses


ROUNDS, LINKS = 50, 8


def test_a_killed_server_never_lets_in_twice(tmp_path):
    rng = random.Random(21)
    server = admin_server(tmp_path / "data").start()
    admin = server.api()
    dataset = ring(admin)
    outcomes, aim = {}, 0.004
    for round_no in range(ROUNDS):
        # One round in ten kills before any use is sent, one after the first answer; half of the others spread the uses out,
        # the others aim at the moment between the disk and the answer.
        when = {0: "before", 5: "answered"}.get(round_no % 10, "aimed" if round_no % 2 else "spread")
        links = [mint(admin, dataset, f"guest{i}") for i in range(LINKS)]
        first = [None] * LINKS
        socks = [connect(server) for _ in links]
        delays = [rng.uniform(0, 0.012) if when == "spread" else 0.0 for _ in links]
        go = threading.Barrier(LINKS + 1)

        def use(i):
            go.wait()
            time.sleep(delays[i])
            try:
                socks[i].sendall(request_bytes(links[i], server.server))
            except OSError:
                return
            first[i] = status_of(socks[i])

        threads = [threading.Thread(target=use, args=(i,)) for i in range(LINKS)]
        for t in threads:
            t.start()
        if when == "before":
            server.kill()
        go.wait()
        if when == "answered":
            until(lambda: any(first), "an answer")
        else:
            time.sleep(aim * rng.uniform(0.9, 1.1) if when == "aimed" else rng.uniform(0.002, 0.016))
        server.kill()
        for t in threads:
            t.join()
        server.start()
        seen = []
        for i, link in enumerate(links):
            again, third = visit(link).status_code, visit(link).status_code
            assert first[i] in (None, 302) and again in (302, 410), (first[i], again)
            assert (first[i], again).count(302) <= 1, "somebody was let in twice"
            assert third == 410
            seen.append((first[i], again))
            outcomes[seen[-1]] = outcomes.get(seen[-1], 0) + 1
        if when == "aimed":
            aim *= 0.85 if seen.count((302, 410)) > LINKS / 2 else 1.15
    print(f"\n{ROUNDS * LINKS} uses around a kill: (answer before, answer after) {outcomes}")
    assert outcomes.get((302, 410)) and outcomes.get((None, 302)), outcomes
    assert server.stop() == 0


@pytest.fixture
def places(house, dataset):
    own = Place(house, house.api("alice"), dataset)
    other = Place(house, house.api("alice"), ring(house.api("alice")))
    yield own, other
    own.page.close()
    other.page.close()


def test_every_route_for_a_guest(house, guest, places):
    document = requests.get(house.url + "/openapi.json").json()["paths"]
    needs = {f"{method.upper()} {path}": "security" in operation
             for path, methods in document.items() for method, operation in methods.items()}
    private = {row for row, secured in needs.items() if secured}
    assert private == set(SCOPE), f"without a row: {private - set(SCOPE)}; without a route: {set(SCOPE) - private}"
    own, other = places
    bob = bearer(house.token("bob"))
    for row, (about_own, about_other) in SCOPE.items():
        r = own.request(house, row, headers=bearer(guest["graphlume_jwt"]))
        assert r.status_code in about_own, (row, r.status_code, r.text[:300])
        if row in ("GET /api/v2/files/", "GET /api/v2/datasets/"):
            assert r.json()["count"] == 0
        r = other.request(house, row, headers=bearer(guest["graphlume_jwt"]))
        assert r.status_code in about_other, (row, r.status_code, r.text[:300])
        if about_other == (404,) and row != "GET /graph/graph.html" and "switch" not in row:
            # A guest is told what any other account is told that may not see it.
            def told(reply):
                return {k: v for k, v in reply.json().items() if k != "request_id"}

            assert told(r) == told(other.request(house, row, headers=bob)), row
        # With its cookies a guest has the page's routes and nothing else.
        r = own.request(house, row, cookies={k: guest[k] for k in ("sessionid", "csrftoken", "graphlume_jwt")})
        opens = "/viz/{" in row or "GET /graph" in row or "/mcp" in row
        assert r.status_code in about_own if opens else r.status_code == 401, (row, r.status_code)
    alive = house.api("alice")
    assert alive("GET", f"/api/v2/datasets/{own.dataset}").status_code == 200, "nothing was changed"
    assert alive("GET", f"/api/v2/files/{own.file}").json()["is_valid"]


def test_the_tools_for_a_guest(house, guest, places):
    own, other = places
    agent = Agent(house, guest["graphlume_jwt"])
    mine = unique("mine")
    query = json.dumps([{"type": "Node"}])
    with OpenPage(house, own.dataset, mine, guest["graphlume_jwt"]):
        assert [s["session_id"] for s in agent.call("list_sessions")["sessions"]] == [mine]
        for session in (mine, own.session):
            assert "nodes: 60" in agent.text("get_session_info", session_id=session)
            assert "error" not in agent.call("query_graph", session_id=session, gfql_operations=query)
            assert "collections" in agent.call("list_collections", session_id=session)
            new = {"session_id": session, "name": "x", "gfql_operations": query}
            assert agent.refusal("create_collection", **new) == (403, -32002), "looking is all"
            assert agent.refusal("reset_collections", session_id=session) == (403, -32002)
        for tool, more in (("get_session_info", {}), ("query_graph", {"gfql_operations": query}), ("list_collections", {})):
            assert agent.refusal(tool, session_id=other.session, **more) == (403, -32002)
    # A cookie is no credential of the tools.
    nobody = Agent(house)
    nobody.http.cookies.update(guest)
    assert nobody.refusal("list_sessions") == (401, -32001)


def test_a_cookie_opens_pages_and_nothing_else(house, guest, dataset):
    session = unique("s")
    cookies = {n: f"{n}={guest[n]}" for n in ("sessionid", "graphlume_jwt")}
    origins = [None, "null", "", "http://", "https://evil.example", f"http://{house.server}.evil.example",
               f"http://evil.example/{house.server}", f"http://{house.server}@evil.example", "http://127.0.0.1",
               f"http://127.0.0.1:{house.port + 1}"]
    vectors = 0
    for value in (*cookies.values(), "; ".join(cookies.values())):
        for origin in origins:
            headers = {"Cookie": value, **({} if origin is None else {"Origin": origin})}
            with pytest.raises(InvalidStatus) as caught:
                Viewer(house, dataset, session, headers=headers)
            assert caught.value.response.status_code == 403, (value[:10], origin)
            vectors += 1
        viewer = Viewer(house, dataset, session, headers={"Cookie": value, "Origin": house.url})
        viewer.until(lambda: viewer.graph)
        viewer.close()
    # Nothing that changes anything takes a cookie, with or without the token that scripts can read.
    writes = [("DELETE", f"/api/v2/datasets/{dataset}"), ("POST", "/api/v2/files/"), ("POST", "/api/v2/share/link/"),
              ("POST", "/api/v2/upload/datasets/"), ("GET", "/api/v2/logout-user/alice/")]
    for method, path in writes:
        for more in ({}, {"Origin": house.url, "X-CSRFToken": guest["csrftoken"]}):
            r = requests.request(method, house.url + path, cookies=guest, headers=more, json={})
            assert r.status_code == 401, (method, path)
            vectors += 1
    assert vectors == 40


def test_a_logout_ends_everything(house, admin, dataset):
    waits = []
    for spelling in ("/api/v2/logout-user/{}/", "/api/v2/logout-user/username/{}/"):
        name = unique("guest")
        spare = mint(admin, dataset, name)
        cookies = jar(visit(mint(admin, dataset, name)))
        token = cookies["graphlume_jwt"]
        bystander = jar(visit(mint(admin, dataset, unique("friend"))))
        ways = [bearer(token)]
        ways += [{"Cookie": f"{n}={cookies[n]}", "Origin": house.url} for n in ("sessionid", "graphlume_jwt")]
        viewers = [Viewer(house, dataset, unique("s"), headers=h) for h in ways]
        stays = Viewer(house, dataset, unique("s"), headers=bearer(bystander["graphlume_jwt"]))
        for viewer in (*viewers, stays):
            viewer.until(lambda: viewer.graph)
        agent = Agent(house, token)
        assert agent.call("list_sessions")["sessions"] is not None
        assert requests.get(house.url + spelling.format(name), cookies={"graphlume_jwt": house.token()}).status_code == 401
        assert requests.head(house.url + spelling.format(name), headers=admin.session.headers).status_code == 405
        assert requests.get(f"{house.url}/api/v2/datasets/{dataset}", headers=bearer(token)).status_code == 200
        r = admin("GET", spelling.format(name))
        told = time.monotonic()
        assert r.status_code == 200 and r.json()["data"]["links_removed"] == 1, r.text
        for viewer in viewers:
            with pytest.raises(ConnectionClosed) as caught:
                viewer.until(lambda: False)
            assert caught.value.rcvd.code == 4401, caught.value
        waits.append(time.monotonic() - told)
        assert requests.get(f"{house.url}/api/v2/datasets/{dataset}", headers=bearer(token)).status_code == 401
        assert agent.refusal("list_sessions") == (401, -32001)
        for name_, value in cookies.items():
            page = requests.get(f"{house.url}/graph/graph.html?dataset={dataset}", cookies={name_: value})
            assert page.status_code in (401, 404), "as for anybody"
        r = requests.post(house.url + "/api-token-refresh/", json={"token": token})
        assert r.status_code == 400
        assert visit(spare).status_code == 404, "unused links are removed"
        stays.until(lambda: stays.frames)
        stays.close()
        again = jar(visit(mint(admin, dataset, name)))
        assert requests.get(f"{house.url}/api/v2/datasets/{dataset}", headers=bearer(again["graphlume_jwt"])).ok
    print(f"open pages ended after {waits} s")
    # Told, and not found out at the next ping, twenty seconds later.
    assert min(waits) < 15, waits
    assert admin("GET", "/api/v2/logout-user/nobody-of-that-name/").status_code == 404
    assert house.api("alice")("GET", "/api/v2/logout-user/bob/").status_code == 403
    assert house.api("staff")("GET", "/api/v2/logout-user/admin/").status_code == 403
    assert house.api("staff")("GET", "/api/v2/logout-user/bob/").status_code == 200
    assert house.token("bob"), "an account may log in again"


def test_nothing_that_races_a_logout_succeeds_later(house, admin, dataset):
    name = unique("guest")
    cookies = jar(visit(mint(admin, dataset, name)))
    session = unique("s")
    with OpenPage(house, dataset, session, house.token("alice")):
        targets = [(f"/api/v2/datasets/{dataset}", {"headers": bearer(cookies["graphlume_jwt"])}),
                   (f"/viz/{session}/node/1?dataset={dataset}", {"cookies": {"sessionid": cookies["sessionid"]}}),
                   (f"/viz/{session}/frame?after=4000000000&dataset={dataset}", {"cookies": cookies})]
        # Whether each request was begun after the answer to the logout, and its own answer.
        done, out, stop = [], threading.Event(), threading.Event()

        def ask(i):
            http = requests.Session()
            path, how = targets[i % 3]
            while not stop.is_set():
                is_late = out.is_set()
                r = http.get(house.url + path, timeout=HANG_S, **how)
                done.append((is_late, r.status_code))

        threads = [threading.Thread(target=ask, args=(i,), daemon=True) for i in range(6)]
        for t in threads:
            t.start()
        until(lambda: sum(status == 200 for _, status in done) >= 100, "the guest gets answers")
        assert admin("GET", f"/api/v2/logout-user/{name}/").status_code == 200
        out.set()
        until(lambda: sum(is_late for is_late, _ in done) >= 1000, "requests after the logout")
        stop.set()
        for t in threads:
            t.join(HANG_S)
        wrong = [status for is_late, status in done if is_late and status in (200, 204)]
        assert not wrong, f"{len(wrong)} of {len(done)}"


def test_a_logout_survives_a_kill(tmp_path):
    server = admin_server(tmp_path / "data").start()
    admin = server.api()
    dataset = ring(admin)
    for _ in range(5):
        name = unique("guest")
        spare = mint(admin, dataset, name)
        cookies = jar(visit(mint(admin, dataset, name)))
        assert admin("GET", f"/api/v2/logout-user/{name}/").status_code == 200
        server.kill()
        server.start()
        r = requests.get(f"{server.url}/api/v2/datasets/{dataset}", headers=bearer(cookies["graphlume_jwt"]))
        assert r.status_code == 401
        page = requests.get(f"{server.url}/graph/graph.html?dataset={dataset}", cookies=cookies)
        assert page.status_code in (401, 404)
        assert visit(spare).status_code == 404
    assert server.stop() == 0


def test_a_disabled_account_lets_nobody_in(tmp_path):
    server = admin_server(tmp_path / "data").start()
    admin = server.api()
    dataset = ring(admin)
    spare = mint(admin, dataset, "guest")
    cookies = jar(visit(mint(admin, dataset, "guest")))
    server.stop()
    run_cli("user", "disable", "guest", "--data", server.data)
    server.start()
    assert visit(spare).status_code == 404
    r = requests.get(f"{server.url}/api/v2/datasets/{dataset}", headers=bearer(cookies["graphlume_jwt"]))
    assert r.status_code == 401
    page = requests.get(f"{server.url}/graph/graph.html?dataset={dataset}", cookies=cookies)
    assert page.status_code in (401, 404)
    r = admin("GET", f"/api/v2/generate/single-use-url/?username=guest&dataset_id={dataset}")
    assert r.status_code == 409 and "guest" in r.json()["message"], r.text
    server.stop()


def test_the_log_has_every_step_and_no_secret(tmp_path):
    server = admin_server(tmp_path / "data", "--log", "debug").start()
    admin = server.api()
    dataset = ring(admin)
    secrets, steps = [], {"link-minted": 0, "link-used": 0, "link-refused": 0, "logout-user": 0}
    for i in range(5):
        links = [mint(admin, dataset, f"guest{i}") for _ in range(2)]
        steps["link-minted"] += 2
        cookies = jar(visit(links[0]))
        steps["link-used"] += 1
        assert [visit(links[0]).status_code, visit(links[0][:-1]).status_code] == [410, 404]
        steps["link-refused"] += 2
        visit(links[1], **{"Sec-Fetch-Dest": "image"})
        guest = Agent(server, cookies["graphlume_jwt"])
        assert guest.call("list_sessions")["sessions"] == []
        r = requests.get(f"{server.url}/api/v2/logout-user/admin/", headers=bearer(cookies["graphlume_jwt"]))
        assert r.status_code == 403
        assert admin("GET", f"/api/v2/logout-user/guest{i}/").status_code == 200
        steps["logout-user"] += 1
        secrets += [link.split("=")[1] for link in links] + list(cookies.values())
    metrics = requests.get(server.internal_url + "/metrics").text
    assert server.stop() == 0
    log = (server.data.parent / f"{server.data.name}.log").read_text(errors="replace")
    found = {name: len(re.findall(rf'event="?{name}"?\s', log)) for name in steps}
    assert found == steps
    assert len(re.findall(r'event="?logout-user-refused"?\s', log)) == 5
    everything = [("the log", log.encode()), ("the metrics", metrics.encode())]
    everything += [(str(p), p.read_bytes()) for p in server.data.rglob("*") if p.is_file()]
    for secret in secrets:
        for where, text in everything:
            assert secret.encode() not in text, f"a secret is in {where}"
