"""The life of a token and the day in which it may be exchanged, to the second.

Tokens of any age are made here with the server's own signing key, for nobody waits for a day.
"""

import base64
import hashlib
import hmac
import json
import secrets
import time

import pytest
import requests
from agent import Agent
from conftest import HANG_S

HOUR, DAY = 3_600, 86_400


def text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def claims_of(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


@pytest.fixture(scope="module")
def forge(server, accounts):
    """Makes a token of alice as the server would have made it at another time."""
    real = server.token("alice")
    key = (accounts["data"] / "token.key").read_bytes()

    def make(**changes):
        claims = {**claims_of(real), "jti": secrets.token_hex(16), **changes}
        message = f"{real.split('.')[0]}.{text(json.dumps(claims).encode())}"
        return f"{message}.{text(hmac.new(key, message.encode(), hashlib.sha256).digest())}"

    return make


def second():
    """A second that has only just begun, so that what follows happens within it."""
    while time.time() % 1 > 0.1:
        time.sleep(0.01)
    return int(time.time())


def post(server, path, token):
    r = requests.post(server.url + path, json={"token": token}, timeout=HANG_S)
    return r.status_code, r.text


def outcomes(server, make):
    """What becomes of tokens made one second before the limit, at it and after it; again if the machine dawdled."""
    while True:
        now = second()
        done = make(now)
        if int(time.time()) == now:
            return done


def test_what_the_server_issues_ends_after_an_hour(server, forge):
    issued = claims_of(server.token("alice"))
    assert issued["exp"] - issued["iat"] == HOUR and issued["orig_iat"] == issued["iat"]
    now = int(time.time())
    assert post(server, "/api-token-verify/", forge(iat=now, exp=now + HOUR, orig_iat=now))[0] == 200
    # Not even with the right signature does a token live longer.
    assert post(server, "/api-token-verify/", forge(iat=now, exp=now + HOUR + 1, orig_iat=now))[0] == 400


def test_a_token_lives_an_hour_to_the_second(server, forge):
    agent = Agent(server)

    def of_age(now, age):
        return forge(iat=now - age, exp=now - age + HOUR, orig_iat=now - age)

    def verified(now):
        return [post(server, "/api-token-verify/", of_age(now, age)) for age in (HOUR - 1, HOUR, HOUR + 1)]

    def called(now):
        done = []
        for age in (HOUR - 1, HOUR, HOUR + 1):
            agent.key = of_age(now, age)
            r = agent.ask("tools/call", {"name": "list_sessions"})
            done.append((r.status_code, r.json().get("error", {}).get("code")))
        return done

    alive, *dead = outcomes(server, verified)
    assert alive[0] == 200, alive
    assert [status for status, _ in dead] == [400, 400] and all("expired" in t for _, t in dead), dead
    assert outcomes(server, called) == [(200, None), (401, -32001), (401, -32001)]


def test_a_token_is_exchanged_for_a_day_to_the_second(server, forge):
    def exchanged(now):
        made = [forge(iat=now - 10, exp=now - 10 + HOUR, orig_iat=now - age) for age in (DAY - 1, DAY, DAY + 1)]
        return [post(server, "/api-token-refresh/", token) for token in made]

    good, *late = outcomes(server, exchanged)
    assert good[0] == 200, good
    assert [status for status, _ in late] == [400, 400], late
    fresh = claims_of(json.loads(good[1])["token"])
    assert fresh["exp"] - fresh["iat"] == HOUR
    assert time.time() - fresh["orig_iat"] < DAY + 60 and fresh["orig_iat"] < fresh["iat"] - DAY + 60, "still of that login"
    # Such a token is alive all the same: it is only not exchanged any more.
    now = int(time.time())
    old = forge(iat=now - 10, exp=now - 10 + HOUR, orig_iat=now - DAY - 1)
    assert post(server, "/api-token-verify/", old)[0] == 200
