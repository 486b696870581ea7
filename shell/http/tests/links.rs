//! Login links over the wire: what uses one up, what it answers, and which credential the routes around it
//! take.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Reply, Server, config};
use graphlume_http::{CookieConfig, HttpConfig};
use serde_json::json;

/// An empty dataset that its author alone may see.
async fn private(server: &Server, token: &str) -> String {
    let bearer = format!("Bearer {token}");
    let auth = [("Authorization", bearer.as_str())];
    let create = json!({
        "name": "g", "metadata": {},
        "node_encodings": {"bindings": {}},
        "edge_encodings": {"bindings": {"source": "s", "destination": "d"}},
    });
    let made = server.post("/api/v2/upload/datasets/", &auth, &create.to_string()).await;
    let id = made.json()["data"]["dataset_id"].as_str().unwrap().to_owned();
    let share = json!({"obj_pk": id, "obj_type": "dataset", "mode": "private"}).to_string();
    assert_eq!(server.post("/api/v2/share/link/", &auth, &share).await.status, 200);
    id
}

/// The path and query of a fresh link.
async fn mint(server: &Server, token: &str, dataset: &str) -> String {
    let path =
        format!("/api/v2/generate/single-use-url/?username=guest%40x.org&dataset_id={dataset}");
    let reply = server.get(&path, &[("Authorization", &format!("Bearer {token}"))]).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let url = reply.json()["single_use_url"].as_str().unwrap().to_owned();
    let base = format!("http://{}", server.addr);
    url.strip_prefix(&base).unwrap_or_else(|| panic!("{url}")).to_owned()
}

/// The cookies that an answer sets, as a browser would send them back.
fn cookies(reply: &Reply) -> String {
    let set = reply.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case("set-cookie"));
    let pairs: Vec<&str> = set.map(|(_, v)| v.split(';').next().unwrap()).collect();
    pairs.join("; ")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_visit_signs_in_and_looks_do_not_use_the_link_up() {
    let server = Server::start().await;
    let token = server.token().await;
    let dataset = private(&server, &token).await;
    let link = mint(&server, &token, &dataset).await;
    let secret = link.strip_prefix("/magic-login/?sst=").unwrap();
    assert_eq!(secret.len(), 43);
    let html = ("Accept", "text/html,*/*;q=0.8");
    for (method, headers, status) in [
        ("HEAD", &[html][..], 200),
        ("GET", &[html, ("Sec-Fetch-Dest", "iframe")][..], 200),
        ("GET", &[html, ("Sec-Fetch-Dest", "image")][..], 200),
        ("GET", &[("Sec-Fetch-Dest", "empty")][..], 200),
        ("GET", &[html, ("Purpose", "prefetch")][..], 503),
        ("GET", &[("Sec-Purpose", "prefetch;prerender")][..], 503),
        ("POST", &[html][..], 405),
        ("OPTIONS", &[html][..], 204),
    ] {
        // A link that was never minted is answered alike.
        let other = link.replace(secret, &"A".repeat(43));
        for address in [&link, &other] {
            let reply = server.request(method, address, headers, b"").await;
            assert_eq!(reply.status, status, "{method} {headers:?}");
            assert_eq!(reply.header("set-cookie"), None, "{method} {headers:?}");
            assert!(!reply.text().contains(secret));
            assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
            assert_eq!(reply.header("cache-control"), Some("no-store"));
        }
    }
    let used = server.get(&link, &[html, ("Sec-Fetch-Dest", "document")]).await;
    assert_eq!(used.status, 302, "{}", used.text());
    let target = format!("/graph/graph.html?dataset={dataset}");
    assert_eq!(used.header("location"), Some(target.as_str()));
    assert_eq!(used.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(used.header("cache-control"), Some("no-store"));
    let jar = cookies(&used);
    for name in ["sessionid=", "csrftoken=", "graphlume_jwt="] {
        assert!(jar.contains(name), "{jar}");
    }
    // Each of the two credentials opens the page, and neither opens anything else.
    for cookie in jar.split("; ") {
        let opens = !cookie.starts_with("csrftoken=");
        let first = server.get(&target, &[("Cookie", cookie)]).await;
        let page = server
            .get(&format!("/graph/{}", first.header("location").unwrap()), &[("Cookie", cookie)])
            .await;
        assert_eq!(page.status == 200, opens, "{cookie}: {}", page.status);
    }
    let again = server.get(&link, &[html]).await;
    assert_eq!((again.status, again.header("set-cookie")), (410, None));
    assert_eq!(again.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(again.text().contains("used already") && !again.text().contains(secret));
    let any = server.get(&link, &[("Accept", "*/*")]).await;
    assert_eq!(any.header("content-type"), Some("text/html; charset=utf-8"));
    server.get(&link, &[]).await.assert_refused(410, "for programs");
    for unknown in ["A".repeat(43), "x".to_owned(), "%00".to_owned(), "..%2f".repeat(500)] {
        let reply = server.get(&format!("/magic-login/?sst={unknown}"), &[html]).await;
        assert_eq!(reply.status, 404);
        assert!(reply.text().contains("not valid any more"), "{}", reply.text());
    }
    let missing = server.get("/magic-login/", &[]).await;
    missing.assert_refused(400, "no token");
    assert_eq!(missing.json()["field"], "sst");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changes_something_takes_a_header_and_nothing_else() {
    let server = Server::start().await;
    let token = server.token().await;
    let dataset = private(&server, &token).await;
    let bearer = format!("Bearer {token}");
    let link = mint(&server, &token, &dataset).await;
    let guest = cookies(&server.get(&link, &[]).await);
    let mint = format!("/api/v2/generate/single-use-url/?username=g&dataset_id={dataset}");
    let admin = format!("graphlume_jwt={token}");
    for path in [&mint, "/api/v2/logout-user/admin/", "/api/v2/logout-user/username/admin/"] {
        for cookie in [&admin, &guest] {
            server.get(path, &[("Cookie", cookie)]).await.assert_refused(401, path);
        }
        server.request("HEAD", path, &[("Authorization", &bearer)], b"").await.status_is(405, path);
    }
    // The admin's token has survived all of it, and its arguments are looked at in their turn.
    let auth = [("Authorization", bearer.as_str())];
    for (query, status, field) in [
        ("", 400, "username"),
        ("username=g", 400, "dataset_id"),
        ("username=&dataset_id=x", 400, "username"),
        ("username=a%2Fb&dataset_id=x", 400, "username"),
        ("username=g&dataset_id=x", 404, "dataset_id"),
        ("username=g&dataset_id=Miserables", 400, "dataset_id"),
    ] {
        let path = format!("/api/v2/generate/single-use-url/?{query}");
        let reply = server.get(&path, &auth).await;
        reply.assert_refused(status, query);
        assert_eq!(reply.json()["field"], field, "{query}");
    }
    let guest_token = guest.split("graphlume_jwt=").nth(1).unwrap();
    let theirs = format!("Bearer {guest_token}");
    for path in [mint.as_str(), "/api/v2/logout-user/admin/"] {
        server.get(path, &[("Authorization", &theirs)]).await.assert_refused(403, path);
    }
    server.get("/api/v2/logout-user/nobody/", &auth).await.assert_refused(404, "nobody");
    // An administrator may end their own access, and is told that it was done.
    assert_eq!(server.get("/api/v2/logout-user/admin/", &auth).await.status, 200);
    server.get("/api/v2/logout-user/admin/", &auth).await.assert_refused(401, "afterwards");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_three_cookies_carry_the_configured_flags() {
    for (secure, same_site, flags) in [
        (None, None, "; SameSite=Lax"),
        (Some(false), Some("Strict"), "; SameSite=Strict"),
        (Some(true), None, "; SameSite=None; Secure"),
        (Some(true), Some("NONE"), "; SameSite=None; Secure"),
        (Some(true), Some("lax"), "; SameSite=Lax; Secure"),
    ] {
        let cookie = CookieConfig::from_settings(secure, same_site, false).unwrap();
        let settings = HttpConfig { cookie, link_token_name: "ticket".to_owned(), ..config() };
        let server = Server::with(settings).await;
        let token = server.token().await;
        let dataset = private(&server, &token).await;
        let link = mint(&server, &token, &dataset).await;
        let old = link.replace("ticket=", "sst=");
        server.get(&old, &[]).await.assert_refused(400, "the old name");
        let reply = server.get(&link, &[]).await;
        assert_eq!(reply.status, 302, "{}", reply.text());
        let set: Vec<&str> = reply
            .headers
            .iter()
            .filter(|(n, _)| n.eq_ignore_ascii_case("set-cookie"))
            .map(|(_, v)| v.as_str())
            .collect();
        assert_eq!(set.len(), 3, "{set:?}");
        for value in set {
            assert!(value.ends_with(flags), "{value}");
            assert_eq!(value.contains("HttpOnly"), !value.starts_with("csrftoken="), "{value}");
        }
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_login_in_the_browser_of_a_guest_ends_the_guest() {
    let server = Server::start().await;
    let token = server.token().await;
    let dataset = private(&server, &token).await;
    let jar = cookies(&server.get(&mint(&server, &token, &dataset).await, &[]).await);
    let login = json!({"username": common::USER, "password": common::PASSWORD}).to_string();
    let reply = server.post("/api-token-auth/", &[("Cookie", &jar)], &login).await;
    let set: Vec<&(String, String)> =
        reply.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case("set-cookie")).collect();
    assert!(set[0].1.starts_with("graphlume_jwt="), "{set:?}");
    assert!(set[1].1.starts_with("sessionid=; Path=/; Max-Age=0;"), "{set:?}");
    let foreign = [("Cookie", "sessionid=of-another-server-on-this-host")];
    let reply = server.post("/api-token-auth/", &foreign, &login).await;
    let names = reply.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case("set-cookie"));
    assert_eq!(names.count(), 1, "the cookie of another server is left alone");
    server.stop().await;
}
