//! Signing in and out in a browser: a form that needs no script.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_service::{Caller, IdentityError, Principal};
use graphlume_types::{Code, Coded, id, limits};
use http::header::{
    CONTENT_SECURITY_POLICY, HeaderValue, LOCATION, REFERRER_POLICY, RETRY_AFTER, SET_COOKIE,
};
use http::{Response, StatusCode};

use crate::config::{KNOWN_COOKIE, SESSION_COOKIE};
use crate::html::{self, escape};
use crate::query;
use crate::reply::Reply;
use crate::request::Req;
use crate::route::{OpenedBy, RequestBody, Route, run};
use crate::schema::Shape::{Object, Text};
use crate::schema::{Parameter, must, parameter, returns_nothing, returns_page};
use crate::state::Shell;
use crate::status::ApiError;
use crate::ws::is_own_page;

const NEXT: &[Parameter] =
    &[parameter("next", Text, "Where to go afterwards: a path of this server.")];

pub(crate) const ROUTES: &[Route] = &[
    Route::get(
        "/login",
        run!(Visitor form),
        &[returns_page("The form")],
        "The form to sign in with; next is where it leads.",
    )
    .query(NEXT)
    .opened_by(OpenedBy::Browser),
    Route::post(
        "/login",
        run!(Visitor submit),
        RequestBody::Form(Object(&[
            must("username", Text, "Login name."),
            must("password", Text, ""),
        ])),
        &[returns_nothing(303, "Signed in")],
        "Signs a browser in with username and password and goes on to next.",
    )
    .query(NEXT)
    .opened_by(OpenedBy::Browser),
    Route::post(
        "/logout",
        run!(Visitor sign_out),
        RequestBody::Form(Object(&[])),
        &[returns_nothing(303, "Signed out")],
        "Ends the browser's login.",
    )
    .query(NEXT)
    .opened_by(OpenedBy::Browser),
];

/// Nothing runs on the page, no other site may frame it, and it sends its form here alone.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'self'",
);
/// Browsers name the origin of a form only where the page lets them.
const REFERRER: HeaderValue = HeaderValue::from_static("same-origin");

/// The form.
async fn form(shell: Arc<Shell>, _: Req, who: Principal) -> Result<Reply, ApiError> {
    Ok(page(&shell, &who, StatusCode::OK, "", None))
}

/// The form's answer.
async fn submit(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    own_page(&shell, &req)?;
    let to = next(&shell, &req);
    let from = Caller {
        address: req.client(&shell),
        browser: req.cookie(KNOWN_COOKIE).map(str::to_owned),
    };
    let old = req.cookie(SESSION_COOKIE).map(str::to_owned);
    let body = req.body.collect(limits::LOGIN_BODY_BYTES_MAX).await?;
    let fields = query::pairs(&String::from_utf8_lossy(&body));
    let of = |name: &str| {
        let field = fields.iter().rev().find(|(n, _)| n == name);
        field.map_or("", |(_, value)| value.as_str())
    };
    let (username, password) = (of("username").trim(), of("password"));
    let signed = shell.service.identity.sign_in(username, password.to_owned(), &from).await;
    let signed = match signed {
        Ok(signed) => signed,
        Err(error @ (IdentityError::BadCredentials | IdentityError::Throttled { .. })) => {
            let status = crate::status::status_of(error.code().into());
            let mut reply = page(&shell, &who, status, username, Some(&words(&error)));
            if let Some(secs) = error.retry_after_secs() {
                reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from(secs));
            }
            return Ok(reply);
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(old) = old {
        // The browser has another one from here on.
        shell.service.identity.sign_out(&who, Some(&old)).await?;
    }
    let cookie = &shell.config.cookie;
    let csrf = id::hex(&id::random_bytes::<32>());
    go(
        &to,
        &[
            cookie.set_session(&signed.session),
            cookie.set_csrf(&csrf),
            cookie.set_token(&signed.token),
            cookie.set_known(&signed.browser),
        ],
    )
}

/// Ends what the browser's cookies stand for, and the cookies.
async fn sign_out(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    own_page(&shell, &req)?;
    let to = next(&shell, &req);
    let session = req.cookie(SESSION_COOKIE).map(str::to_owned);
    req.body.collect(limits::LOGIN_BODY_BYTES_MAX).await?;
    shell.service.identity.sign_out(&who, session.as_deref()).await?;
    let cookie = &shell.config.cookie;
    go(&to, &[cookie.end_session(), cookie.end_csrf(), cookie.end_token()])
}

/// Refuses forms of other sites: a person must not find the browser signed in to another person's account.
fn own_page(shell: &Shell, req: &Req) -> Result<(), ApiError> {
    if is_own_page(&req.headers, &[]) {
        return Ok(());
    }
    let text = format!(
        "this form was not sent by a page of this server; open {}/login and sign in there (a proxy in \
         front has to pass the header Host on)",
        shell.config.base_path
    );
    Err(ApiError::new(Code::Forbidden, "foreign-origin", text))
}

/// Where to go afterwards: a path of this server, else the start page.
fn next(shell: &Shell, req: &Req) -> String {
    let pairs = req.pairs();
    let asked = query::last(&pairs, "next").and_then(local_path);
    asked.unwrap_or_else(|| format!("{}/", shell.config.base_path))
}

/// `text` when it is a path and nothing that a browser takes for another place: `//host`, `/\host` and
/// `/<tab>/host` are such.
fn local_path(text: &str) -> Option<String> {
    let fits = text.len() <= limits::NEXT_BYTES_MAX
        && text.starts_with('/')
        && !text.starts_with("//")
        && text.chars().all(|c| c != '\\' && !c.is_control());
    fits.then(|| html::ascii(text))
}

fn go(to: &str, cookies: &[String]) -> Result<Reply, ApiError> {
    let text = |value: &str| {
        HeaderValue::from_str(value).map_err(|_| {
            ApiError::new(Code::Internal, "internal", "a cookie cannot be written into a header")
        })
    };
    let mut reply = Response::new(Bytes::new());
    *reply.status_mut() = StatusCode::SEE_OTHER;
    reply.headers_mut().insert(LOCATION, text(to)?);
    for cookie in cookies {
        reply.headers_mut().append(SET_COOKIE, text(cookie)?);
    }
    Ok(reply)
}

fn words(error: &IdentityError) -> String {
    match error {
        IdentityError::Throttled { retry_secs } => {
            format!("Too many failed attempts. Try again in {retry_secs} seconds.")
        }
        _ => "User name and password do not match.".to_owned(),
    }
}

fn page(
    shell: &Shell,
    who: &Principal,
    status: StatusCode,
    username: &str,
    refused: Option<&str>,
) -> Reply {
    let base = &shell.config.base_path;
    let known = who.username().map_or_else(String::new, |name| {
        format!(
            "<div class=\"who\"><span>Signed in as <b>{}</b></span>\
             <form method=\"post\" action=\"{base}/logout\"><button class=\"plain\">Sign out</button>\
             </form></div>",
            escape(name)
        )
    });
    let refused = refused.map_or_else(String::new, |text| {
        format!("<div class=\"refused\" role=\"alert\">{}</div>", escape(text))
    });
    let focus = |here: bool| if here { " autofocus" } else { "" };
    let main = format!(
        "{}<h1>Sign in</h1>{known}<form method=\"post\" action=\"\">\
         <label>User name<input name=\"username\" autocomplete=\"username\" autocapitalize=\"none\" \
         spellcheck=\"false\" required maxlength=\"{}\" value=\"{}\"{}></label>\
         <label>Password<input name=\"password\" type=\"password\" autocomplete=\"current-password\" \
         required{}></label>{refused}<button class=\"primary\">Sign in</button></form>\
         <small><a href=\"{base}/\">Start page</a></small>",
        html::MARK,
        limits::USERNAME_CHARS_MAX,
        escape(username),
        focus(username.is_empty()),
        focus(!username.is_empty()),
    );
    let mut reply = html::page(html::card("Sign in – Graphlume", &main));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_SECURITY_POLICY, POLICY);
    reply.headers_mut().insert(REFERRER_POLICY, REFERRER);
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_sent_on_to_paths_of_this_server_alone() {
        for good in ["/", "/graph/graph.html?dataset=1&session=a%20b#x", "/a//b"] {
            assert_eq!(local_path(good).as_deref(), Some(good));
        }
        assert_eq!(local_path("/graph/?pageTitle=é").as_deref(), Some("/graph/?pageTitle=%C3%A9"));
        let long = format!("/{}", "a".repeat(limits::NEXT_BYTES_MAX));
        for bad in [
            "",
            "graph",
            "//evil.example",
            "/\\evil.example",
            "\\/evil",
            "https://evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            "javascript:alert(1)",
            "/a\\b",
            " /a",
            &long,
        ] {
            assert_eq!(local_path(bad), None, "{bad:?}");
        }
    }
}
