//! Pages, redirects, cookies and cross-origin rules over the wire.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::collections::BTreeMap;

use common::{PASSWORD, Reply, Server, USER, config};
use graphlume_http::{CookieConfig, HttpConfig};
use serde_json::json;

/// A dataset with the edges of a small ring; its id.
async fn ring(server: &Server, token: &str) -> String {
    let bearer = format!("Bearer {token}");
    let auth = [("Authorization", bearer.as_str())];
    let create = json!({
        "name": "ring", "metadata": {},
        "node_encodings": {"bindings": {}},
        "edge_encodings": {"bindings": {"source": "s", "destination": "d"}},
    });
    let made = server.post("/api/v2/upload/datasets/", &auth, &create.to_string()).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let id = made.json()["data"]["dataset_id"].as_str().unwrap().to_owned();
    let path = format!("/api/v2/upload/datasets/{id}/edges/csv");
    let edges = server.post(&path, &auth, "s,d\na,b\nb,c\nc,a\n").await;
    assert_eq!(edges.status, 200, "{}", edges.text());
    assert_eq!(edges.json()["data"]["num_rows"], 3);
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_start_page_links_to_the_demo_graphs() {
    let server = Server::with(HttpConfig {
        demo_datasets: vec![("Miserables".to_owned(), "Les Misérables".to_owned())],
        ..config()
    })
    .await;
    let page = server.get("/", &[("Accept", "text/html")]).await;
    assert_eq!(page.status, 200);
    assert!(page.text().contains("href=\"/graph/graph.html?dataset=Miserables\""));
    let csp = page.header("content-security-policy").unwrap();
    assert!(csp.contains("script-src 'self';") && csp.ends_with("frame-ancestors 'self'"), "{csp}");
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    server.stop().await;
}

/// The sources of `frame-ancestors` in the policy of an answer.
fn ancestors(reply: &Reply) -> Option<&str> {
    let csp = reply.header("content-security-policy").unwrap();
    csp.split("; ").find_map(|d| d.strip_prefix("frame-ancestors "))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn graphs_are_framed_anywhere_unless_sites_are_named_and_nothing_else_is() {
    let html = [("Accept", "text/html")];
    let sites = "'self' https://app.example";
    for (named, wanted) in [(None, None), (Some(""), None), (Some(sites), Some(sites))] {
        let frame_ancestors = named.map(str::to_owned);
        let server = Server::with(HttpConfig { frame_ancestors, ..config() }).await;
        let id = ring(&server, &server.token().await).await;
        let graph = format!("/graph/graph.html?dataset={id}&session=s1");
        // A refusal in its place is read in the same frame.
        for (path, status) in [(graph.as_str(), 200), ("/graph/graph.html", 400)] {
            let page = server.get(path, &html).await;
            assert_eq!((page.status, ancestors(&page)), (status, wanted), "{path} {named:?}");
            assert_eq!(page.header("x-frame-options"), None, "notebooks embed the page");
        }
        for path in ["/", "/login", "/nothing"] {
            let page = server.get(path, &html).await;
            assert_eq!(ancestors(&page), Some("'self'"), "{path} {named:?}");
        }
        let refused = server.post("/login", &html, &form("wrong")).await;
        assert_eq!((refused.status, ancestors(&refused)), (401, Some("'self'")));
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_signed_in_makes_nothing_in_a_frame_that_nobody_named() {
    for (named, https, framed, status) in [
        (None, true, "&framed=1", 403),
        (None, true, "", 400),
        (Some("'self' https://app.example"), true, "&framed=1", 400),
        // The cookie does not reach a frame of another site.
        (None, false, "&framed=1", 400),
    ] {
        let cookie = CookieConfig::from_settings(None, None, https).unwrap();
        let frame_ancestors = named.map(str::to_owned);
        let server = Server::with(HttpConfig { cookie, frame_ancestors, ..config() }).await;
        let token = server.token().await;
        let id = ring(&server, &token).await;
        let at = format!("?dataset={id}&session=s1");
        server.get(&format!("/graph/graph.html{at}"), &[]).await;
        let path = format!("/viz/s1/dataset?dataset={id}{framed}");
        let by_cookie = [("Cookie", format!("graphlume_jwt={token}"))];
        let by_cookie = by_cookie.each_ref().map(|(name, value)| (*name, value.as_str()));
        let refused = server.post(&path, &by_cookie, "{}").await;
        assert_eq!(refused.status, status, "{named:?} {https} {framed}: {}", refused.text());
        if status == 403 {
            assert!(refused.text().contains("--frame-ancestors"), "{}", refused.text());
        }
        // A program carries its credential itself, and no site leads it.
        let bearer = [("Authorization", format!("Bearer {token}"))];
        let bearer = bearer.each_ref().map(|(name, value)| (*name, value.as_str()));
        assert_eq!(server.post(&path, &bearer, "{}").await.status, 400);
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_redirect_keeps_every_byte_of_the_address() {
    let server = Server::start().await;
    let token = server.token().await;
    let id = ring(&server, &token).await;
    let query = format!(
        "dataset={id}&type=arrow&viztoken=0f&usertag=1-py&splashAfter=1700000000&info=true\
         &pageTitle=a%20b+c&bg=%23E2E2E2&&odd=%zz&splashAfter=False&play=0&empty="
    );
    let reply = server.get(&format!("/graph/graph.html?{query}"), &[]).await;
    assert_eq!(reply.status, 302, "{}", reply.text());
    let location = reply.header("location").unwrap();
    let rest = location.strip_prefix(&format!("graph.html?{query}&session=")).unwrap();
    assert!(!rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric()), "{rest}");
    let location = &format!("/graph/{location}");
    let page = server.get(location, &[]).await;
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let etag = page.header("etag").unwrap();
    assert_eq!(server.get(location, &[("If-None-Match", etag)]).await.status, 304);
    // Two visits are two sessions; an older name for the session is taken over.
    let again = server.get(&format!("/graph/graph.html?{query}"), &[]).await;
    assert_ne!(again.header("location"), reply.header("location"));
    let named = format!("graph.html?dataset={id}&workbook=mine");
    let reply = server.get(&format!("/graph/{named}"), &[]).await;
    assert_eq!(reply.header("location"), Some(format!("{named}&session=mine").as_str()));
    // A session that a client has named exists from then on.
    let own = format!("/graph/graph.html?dataset={id}&session=cycle");
    assert_eq!(server.get(&own, &[]).await.status, 200);
    server.stop().await;
}

/// Where the redirect of a graph's page leads: it is relative.
fn to(redirect: &Reply) -> String {
    format!("/graph/{}", redirect.header("location").unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_cannot_tell_a_private_graph_from_one_that_is_not_there() {
    let server = Server::start().await;
    let token = server.token().await;
    let bearer = format!("Bearer {token}");
    let id = ring(&server, &token).await;
    let share = json!({"obj_pk": id, "obj_type": "dataset", "mode": "private"}).to_string();
    let shared = server.post("/api/v2/share/link/", &[("Authorization", &bearer)], &share).await;
    assert_eq!((shared.status, &shared.json()["status"]), (200, &json!("OK")));
    let mut seen = Vec::new();
    for dataset in [id.as_str(), "0123456789abcdef0123456789abcdef"] {
        let address = format!("/graph/graph.html?dataset={dataset}");
        let first = server.get(&address, &[]).await;
        assert_eq!(first.status, 302);
        let page = server.get(&to(&first), &[]).await;
        assert!((401..=404).contains(&page.status), "{}", page.status);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        seen.push(page.status);
    }
    assert_eq!(seen[0], seen[1]);
    // The owner's cookie opens it.
    let cookie = format!("graphlume_jwt={token}");
    let address = format!("/graph/graph.html?dataset={id}");
    let first = server.get(&address, &[("Cookie", &cookie)]).await;
    let page = server.get(&to(&first), &[("Cookie", &cookie)]).await;
    assert_eq!(page.status, 200);
    server.stop().await;
}

/// The cookies of an answer, by name, and what stands behind their values.
fn cookies(reply: &Reply) -> BTreeMap<String, (String, String)> {
    let set = reply.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case("set-cookie"));
    set.map(|(_, cookie)| {
        let (pair, flags) = cookie.split_once("; ").unwrap();
        let (name, value) = pair.split_once('=').unwrap();
        (name.to_owned(), (value.to_owned(), flags.to_owned()))
    })
    .collect()
}

fn form(password: &str) -> String {
    format!("username={USER}&password={}", password.replace(' ', "+"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_signs_in_with_a_form_and_out_again() {
    let server = Server::start().await;
    let token = server.token().await;
    let bearer = format!("Bearer {token}");
    let id = ring(&server, &token).await;
    let share = json!({"obj_pk": id, "obj_type": "dataset", "mode": "private"}).to_string();
    server.post("/api/v2/share/link/", &[("Authorization", &bearer)], &share).await;
    let graph = format!("/graph/graph.html?dataset={id}&session=s1");
    let page = server.get("/login", &[("Accept", "text/html")]).await;
    assert_eq!(page.status, 200);
    let csp = page.header("content-security-policy").unwrap();
    assert!(csp.contains("frame-ancestors 'self'") && csp.contains("form-action 'self'"), "{csp}");
    assert!(!csp.contains("script-src"), "the form works without scripts: {csp}");
    // Without this a browser would name no origin for the form.
    assert_eq!(page.header("referrer-policy"), Some("same-origin"));
    assert!(page.text().contains("autocomplete=\"current-password\""), "{}", page.text());

    let next = format!("/login?next={}", graph.replace('?', "%3F").replace('&', "%26"));
    let refused = server.post(&next, &[], &form("wrong")).await;
    assert_eq!((refused.status, cookies(&refused).len()), (401, 0), "{}", refused.text());
    assert!(refused.text().contains("do not match") && refused.text().contains("value=\"admin\""));
    let signed = server.post(&next, &[], &form(PASSWORD)).await;
    assert_eq!((signed.status, signed.header("location")), (303, Some(graph.as_str())));
    let got = cookies(&signed);
    let flags = |name: &str| got[name].1.as_str();
    assert_eq!(flags("sessionid"), "Path=/; Max-Age=86400; HttpOnly; SameSite=Lax");
    assert_eq!(flags("csrftoken"), "Path=/; Max-Age=86400; SameSite=Lax");
    assert_eq!(flags("graphlume_jwt"), "Path=/; Max-Age=3600; HttpOnly; SameSite=Lax");
    assert_eq!(flags("graphlume_known"), "Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax");

    // Either cookie opens the graph: the session's goes on when the token has ended.
    for name in ["graphlume_jwt", "sessionid"] {
        let cookie = format!("{name}={}", got[name].0);
        assert_eq!(server.get(&graph, &[("Cookie", &cookie)]).await.status, 200, "{name}");
    }
    assert_eq!(server.get(&graph, &[]).await.status, 404);
    let session = format!("sessionid={}", got["sessionid"].0);
    let start = server.get("/", &[("Cookie", &session)]).await.text();
    assert!(start.contains("Signed in as <b>admin</b>") && start.contains("/logout"), "{start}");
    assert!(server.get("/", &[]).await.text().contains("href=\"/login\""));

    let out = server.post("/logout", &[("Cookie", &session)], "").await;
    assert_eq!((out.status, out.header("location")), (303, Some("/")));
    let ended = cookies(&out);
    for name in ["sessionid", "csrftoken", "graphlume_jwt"] {
        assert!(ended[name].0.is_empty() && ended[name].1.contains("Max-Age=0"), "{name}");
    }
    assert_eq!(
        server.get(&graph, &[("Cookie", &session)]).await.status,
        404,
        "it is over here, too"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forms_of_other_sites_sign_nobody_in_and_lead_nowhere() {
    let server = Server::start().await;
    let (own, host) = (format!("http://{}", server.addr), server.addr.to_string());
    let evil = [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")];
    let good = form(PASSWORD);
    for headers in [&evil[..], &evil[..1], &evil[1..], &[("Origin", "null")]] {
        for path in ["/login", "/logout"] {
            let reply = server.post(path, headers, &good).await;
            assert_eq!((reply.status, cookies(&reply).len()), (403, 0), "{path} {headers:?}");
        }
        // The token route answers programs of any origin, and leaves nothing in the browser.
        let json = format!("{{\"username\":\"{USER}\",\"password\":\"{PASSWORD}\"}}");
        let mut plain = vec![("Content-Type", "text/plain")];
        plain.extend_from_slice(headers);
        let reply = server.post("/api-token-auth/", &plain, &json).await;
        assert_eq!((reply.status, cookies(&reply).len()), (200, 0), "{headers:?}");
    }
    for headers in [&[("Origin", own.as_str()), ("Host", &host)][..1], &[]] {
        assert_eq!(server.post("/login", headers, &good).await.status, 303);
    }
    for away in ["//evil.example", "https://evil.example/", "/%5Cevil.example", "/%09/evil", "x"] {
        let reply = server.post(&format!("/login?next={away}"), &[], &good).await;
        assert_eq!((reply.status, reply.header("location")), (303, Some("/")), "{away}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_count_by_the_address_that_the_proxy_names() {
    let proxied = HttpConfig { trusted_proxies: vec!["127.0.0.1".parse().unwrap()], ..config() };
    for (config, status) in [(proxied, 200), (config(), 429)] {
        let server = Server::with(config).await;
        let body = |password: &str| json!({"username": USER, "password": password}).to_string();
        let from = |address: &str| [("X-Forwarded-For", format!("198.51.100.1, {address}"))];
        let send = async |address: &str, password: &str| {
            let [(name, value)] = from(address);
            server.post("/api-token-auth/", &[(name, &value)], &body(password)).await
        };
        for _ in 0..10 {
            assert_eq!(send("203.0.113.7", "wrong").await.status, 400);
        }
        let refused = send("203.0.113.7", PASSWORD).await;
        assert_eq!(refused.status, 429);
        assert!(refused.header("retry-after").is_some());
        assert_eq!(send("203.0.113.8", PASSWORD).await.status, status, "somebody else");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_known_browser_is_let_in_while_its_address_is_refused() {
    let server = Server::start().await;
    let known = cookies(&server.post("/login", &[], &form(PASSWORD)).await);
    let known = format!("graphlume_known={}", known["graphlume_known"].0);
    for _ in 0..10 {
        server.post("/login", &[], &form("wrong")).await;
    }
    let refused = server.post("/login", &[], &form(PASSWORD)).await;
    assert_eq!(refused.status, 429);
    assert!(refused.text().contains("Too many failed attempts"), "{}", refused.text());
    assert_eq!(server.post("/login", &[("Cookie", &known)], &form(PASSWORD)).await.status, 303);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_below_a_path_is_whole_there() {
    let server = Server::with(HttpConfig {
        base_path: "/tools/graphs".to_owned(),
        cookie: CookieConfig::from_settings(None, None, false).unwrap().below("/tools/graphs"),
        ..config()
    })
    .await;
    let id = ring(&server, &server.token().await).await;
    // A proxy may take the path off or leave it on.
    for prefix in ["", "/tools/graphs"] {
        let visit = server.get(&format!("{prefix}/graph/graph.html?dataset={id}"), &[]).await;
        let location = visit.header("location").unwrap();
        // Relative: right with and without the path.
        assert!(location.starts_with(&format!("graph.html?dataset={id}&session=")), "{location}");
        assert_eq!(server.get(&format!("{prefix}/graph/{location}"), &[]).await.status, 200);
        let start = server.get(&format!("{prefix}/"), &[]).await;
        assert!(start.text().contains("href=\"/tools/graphs/login\""), "{}", start.text());
        let signed = server.post(&format!("{prefix}/login"), &[], &form(PASSWORD)).await;
        assert_eq!(signed.header("location"), Some("/tools/graphs/"));
        assert!(cookies(&signed).values().all(|(_, flags)| flags.contains("Path=/tools/graphs/;")));
    }
    assert_eq!(server.get("/tools/graphs", &[]).await.status, 200);
    assert_eq!(server.get("/tools/graphsx", &[]).await.status, 404);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_requests_are_sent_to_https_where_that_is_asked_for() {
    let cookie = CookieConfig::from_settings(None, None, true).unwrap();
    let server = Server::with(HttpConfig { https_only: true, cookie, ..config() }).await;
    let plain = [("X-Forwarded-Proto", "http")];
    let path = "/graph/graph.html?dataset=Karate&pageTitle=a%20b";
    let moved = server.get(path, &plain).await;
    assert_eq!(moved.status, 308);
    assert_eq!(moved.header("location"), Some(format!("https://127.0.0.1{path}").as_str()));
    assert_eq!(
        server.post("/api-token-auth/", &plain, "{}").await.status,
        308,
        "no password is read"
    );
    assert_eq!(server.get("/healthz", &plain).await.status, 200);
    assert_eq!(server.get("/", &[("X-Forwarded-Proto", "https")]).await.status, 200);
    assert_eq!(server.get("/", &[]).await.status, 200, "nobody says that it was plain");
    let foreign = [("X-Forwarded-Proto", "http"), ("Host", "evil.example")];
    server.get(path, &foreign).await.assert_refused(403, "foreign-host");
    server.stop().await;
    let public_url = Some("https://viz.example:8443".parse().unwrap());
    let cookie = CookieConfig::from_settings(None, None, true).unwrap();
    let server =
        Server::with(HttpConfig { https_only: true, cookie, public_url, ..config() }).await;
    let moved = server.get(path, &foreign).await;
    let ours = format!("https://viz.example:8443{path}");
    assert_eq!((moved.status, moved.header("location")), (308, Some(ours.as_str())));
    server.stop().await;
    let server = Server::start().await;
    assert_eq!(server.get("/", &plain).await.status, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_start_page_names_its_own_address_and_has_a_mark() {
    let server = Server::start().await;
    let start = server.get("/", &[("Host", "localhost:4711")]).await;
    assert!(start.text().contains("server='localhost:4711'"), "{}", start.text());
    let mark = server.get("/favicon.ico", &[]).await;
    assert_eq!((mark.status, mark.header("content-type")), (200, Some("image/svg+xml")));
    server.stop().await;
    let public_url = Some("https://viz.example:8443".parse().unwrap());
    let server = Server::with(HttpConfig { public_url, ..config() }).await;
    assert!(server.get("/", &[]).await.text().contains("server='viz.example:8443'"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_without_a_graph_is_explained() {
    let server = Server::start().await;
    let reply = server.get("/graph/graph.html", &[]).await;
    reply.assert_refused(400, "no dataset");
    assert_eq!(reply.json()["field"], "dataset");
    let page = server.get("/graph/graph.html", &[("Accept", "text/html")]).await;
    assert_eq!((page.status, page.header("content-type")), (400, Some("text/html; charset=utf-8")));
    server.get("/graph/assets/none.js", &[]).await.assert_refused(404, "asset");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_sets_the_cookie_with_the_configured_flags() {
    for (secure, same_site, flags) in [
        (None, None, "; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax"),
        (Some(false), Some("Strict"), "; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict"),
        (Some(true), None, "; Path=/; Max-Age=3600; HttpOnly; SameSite=None; Secure"),
        (Some(true), Some("lax"), "; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax; Secure"),
    ] {
        let cookie = CookieConfig::from_settings(secure, same_site, false).unwrap();
        let server = Server::with(HttpConfig { cookie, ..config() }).await;
        let login = json!({"username": USER, "password": PASSWORD}).to_string();
        for path in ["/api-token-auth/", "/api/v2/auth/token/generate"] {
            let reply = server.post(path, &[], &login).await;
            assert_eq!(reply.status, 200, "{}", reply.text());
            let token = reply.json()["token"].as_str().unwrap().to_owned();
            let expected = format!("graphlume_jwt={token}{flags}");
            assert_eq!(reply.header("set-cookie"), Some(expected.as_str()));
            assert_eq!(reply.header("cache-control"), Some("no-store"));
            let refresh = json!({ "token": token }).to_string();
            let reply = server.post("/api/v2/auth/token/refresh", &[], &refresh).await;
            assert_eq!(reply.status, 200, "{}", reply.text());
            assert!(reply.header("set-cookie").unwrap().ends_with(flags));
        }
        let wrong = json!({"username": USER, "password": "wrong"}).to_string();
        let reply = server.post("/api-token-auth/", &[], &wrong).await;
        reply.assert_refused(400, "wrong password");
        assert!(reply.json()["non_field_errors"][0].is_string());
        assert_eq!(reply.header("set-cookie"), None);
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_other_origins_may_call_the_api_without_cookies() {
    let server = Server::start().await;
    let origin = ("Origin", "https://notebook.example");
    for (path, method) in [
        ("/api/v2/auth/token/generate", "POST"),
        ("/api/v2/auth/pkey/jwt/", "POST"),
        ("/api/v2/auth/pkey/jwt/", "GET"),
        ("/api/v2/files/", "POST"),
        ("/api/v2/upload/files/abc", "POST"),
        ("/api/v2/upload/datasets/", "POST"),
        ("/api/v2/upload/datasets/abc/edges/arrow", "POST"),
        ("/api/v2/share/link/", "POST"),
    ] {
        let ask = [
            origin,
            ("Access-Control-Request-Method", method),
            ("Access-Control-Request-Headers", "authorization,content-type"),
        ];
        let reply = server.request("OPTIONS", path, &ask, b"").await;
        assert_eq!(reply.status, 204, "{path}");
        assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
        assert_eq!(
            reply.header("access-control-allow-headers"),
            Some("authorization,content-type")
        );
        let methods = reply.header("access-control-allow-methods").unwrap();
        assert!(methods.split(", ").any(|m| m == method), "{path}: {methods}");
        assert_eq!(reply.header("access-control-allow-credentials"), None);
    }
    // Refusals must be readable too; what a cookie opens must not be.
    let refused = server.get("/api/v2/files/", &[origin]).await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (401, Some("*")));
    for path in ["/graph/graph.html?dataset=x", "/viz/x/node/1", "/healthz", "/"] {
        let reply = server.get(path, &[origin]).await;
        assert_eq!(reply.header("access-control-allow-origin"), None, "{path}");
    }
    let viz = [origin, ("Access-Control-Request-Method", "GET")];
    let reply = server.request("OPTIONS", "/viz/x/node/1", &viz, b"").await;
    assert_eq!((reply.status, reply.header("access-control-allow-origin")), (204, None));
    assert_eq!(reply.header("allow"), Some("GET, HEAD, OPTIONS"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_personal_key_route_reads_a_body_on_get_and_refuses_in_its_own_shape() {
    let server = Server::start().await;
    for method in ["GET", "POST"] {
        let reply = server
            .request(
                method,
                "/api/v2/auth/pkey/jwt/",
                &[
                    ("Authorization", "PersonalKey NOSUCHKEY0:secret"),
                    ("Content-Type", "application/json"),
                ],
                b"{\"org_name\": \"acme\"}",
            )
            .await;
        reply.assert_refused(401, method);
        assert!(reply.header("www-authenticate").unwrap().starts_with("PersonalKey "));
        assert!(reply.json()["non_field_errors"][0].is_string());
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_is_compressed_for_those_who_ask_and_lists_have_links() {
    let server = Server::start().await;
    let token = server.token().await;
    let bearer = format!("Bearer {token}");
    for _ in 0..3 {
        ring(&server, &token).await;
    }
    let auth = ("Authorization", bearer.as_str());
    let plain = server.get("/api/v2/datasets/?limit=2", &[auth]).await;
    let list = plain.json();
    assert_eq!((plain.status, &list["count"]), (200, &json!(3)), "{list}");
    let next = list["next"].as_str().unwrap();
    assert!(next.starts_with(&format!("http://{}/api/v2/datasets/?", server.addr)), "{next}");
    for encoding in ["gzip", "zstd"] {
        let packed =
            server.get("/api/v2/datasets/?limit=2", &[auth, ("Accept-Encoding", encoding)]).await;
        assert_eq!(packed.header("content-encoding"), Some(encoding));
        assert!(packed.body.len() < plain.body.len());
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_travels_through_its_life() {
    let server = Server::start().await;
    let bearer = format!("Bearer Bearer {}", server.token().await);
    let auth = [("Authorization", bearer.as_str())];
    let made = server.post("/api/v2/files/", &auth, "{\"file_type\":\"csv\"}").await;
    assert_eq!(made.status, 201, "{}", made.text());
    let id = made.json()["file_id"].as_str().unwrap().to_owned();
    let upload = format!("/api/v2/upload/files/{id}?erase=true");
    let done = server.post(&upload, &auth, "a,b\n1,2\n").await;
    assert_eq!(done.status, 200, "{}", done.text());
    assert_eq!(done.json()["is_valid"], true, "{}", done.text());
    for path in [format!("/api/v2/files/{id}"), format!("/api/v2/files/{id}/")] {
        assert_eq!(server.get(&path, &auth).await.json()["file_id"], id.as_str());
    }
    let gone = server.request("DELETE", &format!("/api/v2/files/{id}/"), &auth, b"").await;
    assert_eq!((gone.status, gone.body.len()), (204, 0));
    server.get(&format!("/api/v2/files/{id}"), &auth).await.assert_refused(404, "deleted");
    server.stop().await;
}
