//! File routes (spec 4.2).

use std::sync::Arc;

use graphlume_service::Principal;
use http::{Method, StatusCode};

use super::{json, listed, no_content, ok};
use crate::reply::Reply;
use crate::request::Req;
use crate::rest::shapes::{FILE, PAGING, PARSING, list_of};
use crate::route::{RequestBody, Route, run};
use crate::schema::Shape::{Bool, Nullable, Object, Text};
use crate::schema::{Member, creates, may, must, parameter, returns, returns_nothing};
use crate::state::Shell;
use crate::status::ApiError;

/// [`PARSING`] behind other fields.
const fn with_parsing<const N: usize, const M: usize>(first: [Member; N]) -> [Member; M] {
    let mut members = [first[0]; M];
    let mut i = 0;
    while i < M {
        members[i] = if i < N { first[i] } else { PARSING[i - N] };
        i += 1;
    }
    members
}

const NEW: [Member; PARSING.len() + 2] = with_parsing([
    must("file_type", Text, "The format of the bytes."),
    may("org_name", Nullable(&Text), "The organization; the active one when absent."),
]);
const CHANGE: [Member; PARSING.len() + 1] =
    with_parsing([may("file_type", Nullable(&Text), "The format of the bytes.")]);

pub(crate) const ROUTES: &[Route] = &[
    Route::get(
        "/api/v2/files/",
        run!(Bearer list),
        &[returns(list_of!(FILE), "A page of the list")],
        "Lists files, newest first.",
    )
    .query(PAGING),
    Route::post(
        "/api/v2/files/",
        run!(Bearer create),
        RequestBody::Json(Object(&NEW)),
        &[creates(FILE, "Created; its bytes are uploaded next")],
        "Creates a file record.",
    ),
    Route::get(
        "/api/v2/files/{file_id}",
        run!(Bearer get),
        &[returns(FILE, "The record")],
        "Returns one file record.",
    )
    .either(),
    Route::new(
        Method::DELETE,
        "/api/v2/files/{file_id}",
        run!(Bearer delete),
        &[returns_nothing(204, "Deleted")],
        "Deletes a file.",
    )
    .either(),
    Route::post(
        "/api/v2/upload/files/{file_id}",
        run!(Bearer upload),
        RequestBody::Raw,
        &[returns(FILE, "Kept; is_valid tells whether it could be parsed")],
        "Uploads the bytes of a file and parses them.",
    )
    .query(&[parameter("erase", Bool, "Whether bytes that cannot be parsed are deleted.")]),
    Route::new(
        Method::PATCH,
        "/api/v2/upload/files/{file_id}/",
        run!(Bearer patch),
        &[returns(FILE, "Parsed again")],
        "Changes how a file is parsed and parses it again.",
    )
    .taking(RequestBody::Json(Object(&CHANGE)))
    .either(),
];

pub(crate) async fn list(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    Ok(listed(shell.service.files.list(&who, req.page(&shell)).await?))
}

pub(crate) async fn create(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let body = req.json().await?;
    json(StatusCode::CREATED, &shell.service.files.create(&who, &body).await?)
}

pub(crate) async fn get(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    ok(&shell.service.files.get(&who, req.param("file_id")).await?)
}

pub(crate) async fn delete(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    shell.service.files.delete(&who, req.param("file_id")).await?;
    Ok(no_content())
}

pub(crate) async fn patch(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let id = req.param("file_id").to_owned();
    let body = req.json().await?;
    ok(&shell.service.files.patch(&who, &id, &body).await?)
}

pub(crate) async fn upload(
    shell: Arc<Shell>,
    mut req: Req,
    who: Principal,
) -> Result<Reply, ApiError> {
    let (id, pairs, declared) = (req.param("file_id").to_owned(), req.pairs(), req.body.declared());
    let mut upload = shell.service.files.begin_upload(&who, &id, pairs, declared).await?;
    while let Some(piece) = req.body.next().await? {
        shell.metrics.upload_bytes.inc_by(piece.len() as u64);
        upload.write(piece).await?;
    }
    ok(&upload.finish().await?)
}
