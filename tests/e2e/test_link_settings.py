"""Settings of login links and of the cookies that they set: their sources, what is refused at the start, and a short life."""

import subprocess
import time

from conftest import HANG_S, Server, free_port, run_cli, until
from link_rig import admin_server, mint, ring, set_cookies, visit


def test_a_short_life_by_the_clock(tmp_path):
    server = admin_server(tmp_path / "data").start()
    admin = server.api()
    dataset = ring(admin)
    early, late = mint(admin, dataset), mint(admin, dataset)
    minted = time.time()
    assert visit(early).status_code == 302
    server.stop()
    # The age is judged at the visit, so that a short life is set when the link has been used.
    server.extra = ("--sesame-max-age", "1")
    server.start()
    until(lambda: time.time() > minted + 2.05, "both are older than a second, whatever part of one is rounded off")
    r = visit(late)
    assert r.status_code == 404 and "not valid any more" in r.text
    # A link that is used and old looks like one that never was.
    assert visit(early).status_code == 404
    server.stop()


def test_settings_have_three_sources(tmp_path):
    data = tmp_path / "data"
    server = admin_server(data).start()
    dataset = ring(server.api())
    server.stop()
    config = tmp_path / "graphlume.toml"
    config.write_text("[serve]\nsesame-token-name = 'from_file'\nsesame-one-time = false\n")
    for extra, env, name, once in [
        ((), {"SESAME_TOKEN_NAME": "ticket", "SESAME_ONE_TIME": "False"}, "ticket", False),
        ((), {"SESAME_TOKEN_NAME": "", "SESAME_ONE_TIME": "true", "SESAME_MAX_AGE": "60"}, "sst", True),
        (("--sesame-token-name", "flag"), {"SESAME_TOKEN_NAME": "ticket"}, "flag", True),
        (("--config", str(config)), {}, "from_file", False),
        (("--config", str(config)), {"SESAME_TOKEN_NAME": "ticket", "SESAME_ONE_TIME": "1"}, "ticket", True),
        (("--config", str(config)), {"GRAPHLUME_SESAME_TOKEN_NAME": "ours"}, "ours", False),
    ]:
        server = Server(data, *extra, env=env).start()
        link = mint(server.api(), dataset)
        assert f"/magic-login/?{name}=" in link, (env, link)
        for other in {"sst", "ticket", "token"} - {name}:
            assert visit(link.replace(f"?{name}=", f"?{other}=")).status_code == 400, "another name is no name"
        statuses = [visit(link).status_code for _ in range(3)]
        assert statuses == ([302, 410, 410] if once else [302] * 3), (env, statuses)
        assert server.stop() == 0


def start(tmp_path, *args, **env):
    """The exit code of a server that refuses to start, and what it says."""
    ports = ["--listen", f"127.0.0.1:{free_port()}", "--internal-listen", f"127.0.0.1:{free_port()}"]
    try:
        r = run_cli("serve", *ports, "--data", tmp_path / "data", *args, check=False, timeout=HANG_S,
                    env={"PATH": "/usr/bin:/bin", **env})
    except subprocess.TimeoutExpired:
        return 0, "it serves"
    return r.returncode, r.stderr


def test_impossible_settings_end_the_start(tmp_path):
    for args, env, exit_code, words in [
        ((), {"SESAME_MAX_AGE": "0"}, 78, "sesame-max-age"),
        ((), {"SESAME_MAX_AGE": "-1"}, 78, "sesame-max-age"),
        ((), {"SESAME_MAX_AGE": "soon"}, 78, "soon"),
        ((), {"SESAME_MAX_AGE": "99999999999"}, 78, "99999999999"),
        ((), {"SESAME_ONE_TIME": "perhaps"}, 78, "perhaps"),
        ((), {"SESAME_TOKEN_NAME": "a b"}, 78, "SESAME_TOKEN_NAME"),
        ((), {"SESAME_TOKEN_NAME": "x" * 65}, 78, "SESAME_TOKEN_NAME"),
        ((), {"COOKIE_SAMESITE": "Sometimes"}, 78, "Sometimes"),
        (("--sesame-max-age", "0"), {}, 2, "sesame-max-age"),
    ]:
        code, said = start(tmp_path, *args, **env)
        assert code == exit_code and words in said, (args, env, code, said)


def test_cookie_flags_of_every_setting(tmp_path):
    data = tmp_path / "data"
    server = admin_server(data).start()
    dataset = ring(server.api())
    server.stop()
    started = refused = 0
    for secure in ("true", "false"):
        for same_site in (None, "None", "none", "NONE", "Lax", "Strict"):
            env = {"COOKIE_SECURE": secure, **({"COOKIE_SAMESITE": same_site} if same_site else {})}
            if secure == "false" and (same_site or "").lower() == "none":
                code, said = start(tmp_path, **env)
                assert code == 78 and "COOKIE_SECURE" in said, (env, code, said)
                refused += 1
                continue
            server = Server(data, env=env).start()
            r = visit(mint(server.api(), dataset))
            expected = same_site or ("None" if secure == "true" else "Lax")
            lines = set_cookies(r)
            assert set(lines) == {"sessionid", "csrftoken", "graphlume_jwt"}, lines
            for name, line in lines.items():
                parts = line.split("; ")
                assert [p for p in parts if p.startswith("SameSite=")] == [f"SameSite={expected.capitalize()}"], line
                assert ("Secure" in parts) == (secure == "true"), line
                assert ("HttpOnly" in parts) == (name != "csrftoken"), line
            server.stop()
            started += 1
    assert (started, refused) == (9, 3)
