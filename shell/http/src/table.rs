//! Every route of the server. A row stands beside its handler; a module with rows is a line here.

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
