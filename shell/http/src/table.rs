//! Every route of the server. A row stands beside its handler; a module with rows is a line here.

use std::sync::OnceLock;

use bytes::Bytes;

use crate::config::HttpConfig;
use crate::error::HttpError;
use crate::route::Route;
use crate::{legacy, magic, mcp, openapi, page, rest, sign_in};

/// The rows, in the order in which they are tried.
static TABLE: &[&[Route]] = &[
    rest::health::ROUTES,
    rest::tokens::ROUTES,
    rest::account::ROUTES,
    rest::links::ROUTES,
    magic::ROUTES,
    rest::files::ROUTES,
    rest::datasets::ROUTES,
    rest::jobs::ROUTES,
    rest::sessions::ROUTES,
    rest::viz::ROUTES,
    rest::groups::ROUTES,
    rest::depth::ROUTES,
    rest::facets::ROUTES,
    rest::picture::ROUTES,
    mcp::ROUTES,
    sign_in::ROUTES,
    page::ROUTES,
    openapi::ROUTES,
    legacy::ROUTES,
    rest::health::INTERNAL,
];

/// Every row.
pub fn routes() -> impl Iterator<Item = &'static Route> {
    TABLE.iter().flat_map(|rows| rows.iter())
}

/// Checks settings: each of its own, and the base path against the paths of the table.
///
/// # Errors
/// [`HttpError::Setting`] naming the setting.
pub fn validate(config: &HttpConfig) -> Result<(), HttpError> {
    config.validate()?;
    let first = config.base_path.split('/').nth(1);
    match first.filter(|first| routes().any(|r| r.path.split('/').nth(1) == Some(first))) {
        None => Ok(()),
        Some(first) => {
            let message = format!("/{first} is a path of the server itself; choose another one");
            Err(HttpError::Setting { name: "base_path", message })
        }
    }
}

/// The table as an OpenAPI document, made once.
pub(crate) fn document(build: &str) -> Bytes {
    static TEXT: OnceLock<Bytes> = OnceLock::new();
    TEXT.get_or_init(|| Bytes::from(openapi::render(routes(), build).to_string())).clone()
}
