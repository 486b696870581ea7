//! Every row of the route table over the wire: methods, slashes, credentials, shapes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Server, config};
use graphlume_http::HttpConfig;
use graphlume_http::route::Route;
use graphlume_http::{Auth, Listener, Slash, routes};

/// An address that has the row's form.
fn sample(route: &Route) -> String {
    let parts: Vec<&str> = route
        .path
        .split('/')
        .map(|part| match part {
            "{epoch}" | "{index}" => "1",
            "{format}" => "csv",
            p if p.starts_with("{*") => "assets/none.js",
            p if p.starts_with('{') => "0123456789abcdef0123456789abcdef",
            p => p,
        })
        .collect();
    parts.join("/")
}

fn public() -> impl Iterator<Item = &'static Route> {
    routes().filter(|r| r.listener == Listener::Public)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_method_is_405_with_the_right_ones() {
    let server = Server::start().await;
    for route in public() {
        let path = sample(route);
        for method in ["PUT", "TRACE", "BREW"] {
            let reply = server.request(method, &path, &[], b"").await;
            reply.assert_refused(405, &format!("{method} {path}"));
            let allow = reply.header("allow").unwrap_or_default();
            assert!(allow.split(", ").any(|m| m == route.method.as_str()), "{path}: {allow}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_other_sites_get_no_route_to_work_by_a_visitors_cookie() {
    let server = Server::start().await;
    let own = format!("http://{}", server.addr);
    let takes_cookies = |r: &&Route| r.auth() == Auth::Viewer && r.method != "GET";
    let mut asked = Vec::new();
    for route in public().filter(takes_cookies).filter(|r| !r.path.starts_with("/log")) {
        let (path, method) = (sample(route), route.method.as_str());
        let json = ("Content-Type", "application/json");
        let evil = [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")];
        for foreign in [&evil[..], &evil[..1], &evil[1..], &[("Origin", "null")]] {
            let mut headers = vec![json, ("Cookie", "sessionid=x")];
            headers.extend_from_slice(foreign);
            let reply = server.request(method, &path, &headers, b"{}").await;
            assert_eq!(reply.status, 403, "{method} {path} {foreign:?}");
            assert!(reply.text().contains("foreign-origin"), "{path}: {}", reply.text());
        }
        for headers in [&[json, ("Origin", own.as_str())][..], &[json]] {
            let reply = server.request(method, &path, headers, b"{}").await;
            assert!(!reply.text().contains("foreign-origin"), "{method} {path} {}", reply.text());
        }
        asked.push(route.path.rsplit('/').next().unwrap_or_default());
    }
    assert!(
        ["do", "find", "export", "dataset"].iter().all(|name| asked.contains(name)),
        "{asked:?}"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_other_slash_form_is_served_directly_or_not_at_all() {
    let server = Server::start().await;
    for route in public() {
        let path = sample(route);
        if path == "/" || route.path.contains("{*") {
            continue;
        }
        let other = match path.strip_suffix('/') {
            Some(p) => p.to_owned(),
            None => format!("{path}/"),
        };
        let method = route.method.as_str();
        let reply = server.request(method, &other, &[], b"").await;
        assert!(!(300..400).contains(&reply.status), "{method} {other} redirects");
        match route.slash {
            Slash::Either => {
                assert!(!matches!(reply.json()["slug"].as_str(), Some("unknown-path")), "{other}");
                assert_ne!(reply.status, 405, "{method} {other}");
            }
            Slash::Exact => {
                assert!(matches!(reply.status, 404 | 405), "{method} {other}: {}", reply.status);
            }
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_with_data_stay_out_of_pages_of_other_sites() {
    let server = Server::start().await;
    for route in public() {
        let (method, path) = (route.method.as_str(), sample(route));
        let reply = server.request(method, &path, &[], b"").await;
        let is_html = reply.header("content-type").is_some_and(|t| t.starts_with("text/html"));
        let is_data = route.auth() != Auth::Public && !route.is_page() && !is_html;
        let policy = reply.header("cross-origin-resource-policy");
        assert_eq!(policy, is_data.then_some("same-origin"), "{method} {path}");
    }
    let credential = format!("Bearer {}", server.token().await);
    let files = server.get("/api/v2/files/", &[("Authorization", &credential)]).await;
    assert_eq!(files.status, 200);
    assert_eq!(files.header("cross-origin-resource-policy"), Some("same-origin"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_that_needs_a_credential_says_so() {
    let server = Server::start().await;
    for route in public().filter(|r| matches!(r.auth(), Auth::Bearer | Auth::Switch)) {
        let (method, path) = (route.method.as_str(), sample(route));
        for headers in [
            &[][..],
            &[("Authorization", "Bearer a.b.c")],
            &[("Authorization", "Basic YTpi")],
            // A cookie is no credential here: a foreign page could make a browser send it.
            &[("Cookie", "graphlume_jwt=a.b.c")],
        ] {
            let reply = server.request(method, &path, headers, b"{}").await;
            reply.assert_refused(401, &format!("{method} {path} {headers:?}"));
            let challenge = reply.header("www-authenticate").unwrap_or_default();
            assert!(challenge.starts_with("Bearer realm="), "{path}: {challenge}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_answers_and_none_with_a_server_error() {
    let server = Server::start().await;
    let token = server.token().await;
    let bearer = format!("Bearer {token}");
    for route in public() {
        let (method, path) = (route.method.as_str(), sample(route));
        let headers = match route.auth() {
            Auth::Bearer | Auth::Switch | Auth::Viewer => vec![("Authorization", bearer.as_str())],
            _ => vec![],
        };
        let reply = server.request(method, &path, &headers, b"").await;
        let health = matches!(
            route.path,
            "/streamgl-gpu/primary/health" | "/streamgl-gpu/secondary/gpu/health"
        );
        // A machine without a GPU says so on its health routes.
        assert!(reply.status < 500 || health, "{method} {path}: {} {}", reply.status, reply.text());
        assert_ne!(reply.status, 405, "{method} {path}");
        if path.starts_with("/mcp") && !path.ends_with(".json") {
            // Refusals there have the form of the protocol.
            assert!(reply.json()["error"]["code"].is_i64(), "{method}: {}", reply.text());
        } else if (method, route.path) == ("POST", "/login") {
            assert_eq!(reply.status, 401, "an empty form is refused in the form");
        } else if reply.status >= 400 && !health {
            reply.assert_refused(reply.status, &format!("{method} {path}"));
        }
        if health || path.contains("health") {
            let body = reply.json();
            for key in ["status", "component", "detail"] {
                assert!(body[key].is_string(), "{path}: {body}");
            }
            assert_eq!(reply.status == 200, body["status"] == "ok", "{path}: {body}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_path_is_json_for_programs_and_a_page_for_people() {
    let server = Server::start().await;
    server.get("/nowhere", &[]).await.assert_refused(404, "program");
    let browser = [("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    let page = server.get("/nowhere", &browser).await;
    assert_eq!(page.status, 404);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(page.header("content-security-policy").unwrap().contains("script-src 'self'"));
    assert_eq!(page.header("x-frame-options"), None);
    server.get("/api/v2/nowhere", &browser).await.assert_refused(404, "api");
    let gone = server.post("/etl?key=x&apiversion=1", &[], "{}").await;
    gone.assert_refused(410, "/etl");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_internal_is_on_the_internal_address_alone() {
    let server = Server::start().await;
    for path in ["/metrics", "/check-workers"] {
        let refused = server.get(path, &[]).await;
        refused.assert_refused(404, path);
        let text = refused.json()["message"].to_string();
        assert!(text.contains("--internal-listen"), "{text}");
        let inside = server.running.internal_addr.unwrap();
        assert!(!text.contains(&inside.port().to_string()), "a stranger learns no address: {text}");
    }
    assert!(!server.get("/nowhere", &[]).await.text().contains("internal"));
    let mut inside = server;
    inside.addr = inside.running.internal_addr.unwrap();
    let metrics = inside.get("/metrics", &[]).await;
    assert_eq!(metrics.status, 200);
    let text = metrics.text();
    assert!(text.contains("graphlume_http_requests_total{route=\"(none)\""), "{text}");
    for figure in ["upkeep_failures_total{part=\"export\"} 0", "store_damaged_records_total 0"] {
        assert!(text.contains(&format!("graphlume_{figure}\n")), "{figure}: {text}");
    }
    let workers = inside.get("/check-workers", &[]).await.json();
    assert!(workers["workers"][0]["clContextHealthy"].is_boolean(), "{workers}");
    assert!(workers["workers"][0]["ready"].is_boolean(), "{workers}");
    inside.get("/api/v2/files/", &[]).await.assert_refused(404, "files inside");
    inside.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_metric_has_a_name_a_help_and_the_format_that_was_asked_for() {
    let mut server = Server::start().await;
    let wrong = format!("{{\"username\":\"{}\",\"password\":\"wrong\"}}", common::USER);
    assert_eq!(server.post("/api-token-auth/", &[], &wrong).await.status, 400);
    server.addr = server.running.internal_addr.unwrap();
    let plain = server.get("/metrics", &[("Accept", "*/*")]).await;
    assert_eq!(plain.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = plain.text();
    assert!(!text.contains("figure=") && !text.contains("# EOF"), "{text}");
    for line in [
        "# TYPE graphlume_engine_memory_bytes gauge",
        "# TYPE graphlume_engine_memory_peak_bytes gauge",
        "# TYPE graphlume_engine_frame_bytes_total counter",
        "graphlume_engine_panics_total 0",
        "# TYPE process_cpu_seconds_total counter",
        "# TYPE process_start_time_seconds gauge",
        "graphlume_accounts 1",
        "graphlume_datasets 0",
        "graphlume_files 0",
        "graphlume_sessions 0",
        "graphlume_login_refusals_total{reason=\"password\"} 1",
        "graphlume_login_refusals_total{reason=\"throttled\"} 0",
        "graphlume_login_refusals_total{reason=\"link\"} 0",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}: {text}");
    }
    let of = |what: &str| {
        let value = text.lines().find_map(|l| l.strip_prefix(what)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("{what}: {text}")).parse::<f64>().unwrap()
    };
    for name in ["resident_memory_bytes", "open_fds", "max_fds", "threads", "start_time_seconds"] {
        assert!(of(&format!("process_{name}")) > 0.0, "{name}");
    }
    let build = text.lines().find(|l| l.starts_with("graphlume_build_info{")).unwrap();
    assert!(build.contains("version=\"") && build.contains("commit=\"") && build.ends_with(" 1"));
    // Of each family: one help with words in it, one type, and a sample of its very name.
    let families: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("# TYPE ")).collect();
    assert!(families.len() > 60, "{families:?}");
    for family in families {
        let (name, kind) = family.split_once(' ').unwrap();
        let help = format!("# HELP {name} ");
        assert_eq!(
            text.lines().filter(|l| l.starts_with(&help) && l.len() > help.len() + 3).count(),
            1,
            "{name}"
        );
        assert_eq!(name.ends_with("_total"), kind == "counter", "{name} {kind}");
        let sample = if kind == "histogram" { format!("{name}_count") } else { name.to_owned() };
        let has = |l: &str| l.strip_prefix(&*sample).is_some_and(|r| r.starts_with([' ', '{']));
        assert!(
            text.lines().any(has) || kind == "counter" && !text.contains(&format!("\n{name}{{")),
            "{name}"
        );
    }

    let asked = [("Accept", "application/openmetrics-text; version=1.0.0, text/plain;q=0.5")];
    let open = server.get("/metrics", &asked).await;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(open.header("content-type"), Some(kind));
    let text = open.text();
    assert!(text.ends_with("# EOF\n") && text.contains("# TYPE graphlume_engine_panics counter\n"));
    assert!(text.contains("graphlume_engine_panics_total 0\n"), "{text}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_lists_the_table() {
    let server = Server::start().await;
    let document = server.get("/openapi.json", &[]).await;
    assert_eq!(document.header("content-type"), Some("application/json; charset=utf-8"));
    let paths = document.json()["paths"].as_object().unwrap().clone();
    for route in public() {
        let path = route.path.replace("{*", "{");
        let method = route.method.as_str().to_ascii_lowercase();
        assert!(paths[&path][&method].is_object(), "{method} {path}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_whose_name_leads_to_this_machine_reads_nothing() {
    let evil = [("Host", "evil.example:8000"), ("Origin", "http://evil.example:8000")];
    let mut server = Server::start().await;
    for route in public() {
        let (method, path) = (route.method.as_str(), sample(route));
        let reply = server.request(method, &path, &evil, b"").await;
        if route.is_health {
            assert_ne!(reply.status, 403, "{method} {path}");
            continue;
        }
        reply.assert_refused(403, &path);
        let body = reply.json();
        assert_eq!(body["slug"], "foreign-host", "{body}");
        let message = body["message"].as_str().unwrap();
        assert!(message.contains("evil.example:8000") && message.contains("--public-url"));
    }
    // A person reads it as a page.
    let page = server.get("/", &[evil[0], ("Accept", "text/html")]).await;
    assert!(page.status == 403 && page.text().contains("--public-url"), "{}", page.text());
    let port = server.addr.port();
    for own in [format!("localhost:{port}"), format!("[::1]:{port}"), "10.0.0.7".to_owned()] {
        assert_eq!(server.get("/", &[("Host", &own)]).await.status, 200, "{own}");
    }
    let outside = server.addr;
    server.addr = server.running.internal_addr.unwrap();
    server.get("/metrics", &evil).await.assert_refused(403, "the counters");
    assert_eq!(server.get("/metrics", &[("Host", "localhost")]).await.status, 200);
    server.addr = outside;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_public_address_is_answered_and_named_in_links() {
    let public_url = Some("https://viz.example".parse().unwrap());
    let server = Server::with(HttpConfig { public_url, ..config() }).await;
    let credential = format!("Bearer {}", server.token().await);
    let lists = async |host: &str| {
        let headers = [("Authorization", credential.as_str()), ("Host", host)];
        server.get("/api/v2/files/?limit=1&offset=1", &headers).await
    };
    for (host, base) in [("viz.example", "https://viz.example"), ("localhost", "http://localhost")]
    {
        let reply = lists(host).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let previous = reply.json()["previous"].as_str().unwrap().to_owned();
        assert!(previous.starts_with(&format!("{base}/api/v2/files/")), "{previous}");
    }
    lists("other.example").await.assert_refused(403, "another name");
    server.stop().await;
}
