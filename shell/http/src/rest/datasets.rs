//! Dataset routes (spec 4.3 to 4.5 and 4.8) and sharing.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use graphlume_service::{AnswerStream, ElementKind, Principal, QueryBody, QueryReply};
use graphlume_types::{Code, Notice};
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::{json, listed, no_content, ok};
use crate::held;
use crate::query;
use crate::reply::AnyBody;
use crate::reply::Reply;
use crate::request::Req;
use crate::rest::shapes::{
    CREATED_DATASET, DATASET, NEW_COMPUTED_DATASET, NEW_DATASET, NOTICES, PAGING, STATUS, list_of,
};
use crate::route::{Handler, RequestBody, Route, run};
use crate::schema::Shape::{
    Any, Bool, Count, Either, List, Map, Named, Nullable, Object, OneOf, Text, True,
};
use crate::schema::{
    Shape, Success, creates, may, must, parameter, returns, returns_bytes, returns_nothing,
};
use crate::state::Shell;
use crate::status::ApiError;

const ONE: &[Success] = &[returns(
    Object(&[must("success", True, ""), must("message", Text, ""), must("data", DATASET, "")]),
    "The dataset",
)];
const CREATED: &[Success] = &[creates(CREATED_DATASET, "Created")];
const UPLOADED: &[Success] = &[returns(
    Object(&[
        must(
            "data",
            Object(&[
                must("dataset_id", Text, ""),
                must("dtypes", Map(&Text), "Name of a column to the name of its type."),
                must("num_cols", Count, "Columns."),
                must("num_rows", Count, "Rows."),
                must("time_parsing_s", Count, "Whole seconds."),
                must("notices", NOTICES, ""),
            ]),
            "What was parsed.",
        ),
        must("message", Text, "What was done, with warnings."),
        must("success", True, ""),
    ]),
    "Parsed",
)];
const QUERY: RequestBody = RequestBody::Json(Object(&[
    may(
        "gfql_operations",
        Any,
        "A list of operations, or a let object, or one Cypher query as a text.",
    ),
    may("gfql_query", Any, "The same under the name that newer clients use."),
    may("gfql_output", Nullable(&Text), "Which binding of a let object to answer with."),
    may("params", Nullable(&Map(&Any)), "Parameters of a Cypher query."),
    may(
        "format",
        Nullable(&Text),
        "The format of the answer; parquet when absent, json for a shape.",
    ),
    may(
        "escape",
        Nullable(&OneOf(&["formulas"])),
        "In CSV, cells of text that a spreadsheet program takes for formulas have an apostrophe before them.",
    ),
    may(
        "strictness",
        Nullable(&OneOf(&["strict", "warn", "quiet"])),
        "Whether unknown columns are refused.",
    ),
    may("node_col_subset", Nullable(&List(&Text)), "The columns of nodes to answer with."),
    may("edge_col_subset", Nullable(&List(&Text)), "The columns of edges to answer with."),
    may("explain", Nullable(&Bool), "Whether to answer with the plan and evaluate nothing."),
    may(
        "profile",
        Nullable(&Bool),
        "Whether to evaluate a Cypher query and answer with its plan and what each operator did; not beside explain.",
    ),
    may("persist", Nullable(&Bool), "Whether the answer is kept as a dataset."),
    may("privacy", Nullable(&Map(&Any)), "Who may see that dataset, as in a share."),
]));
const ANSWERED: &[Success] = &[returns_bytes(
    &["application/json", "text/csv", "application/octet-stream", "application/zip", "text/plain"],
    "The rows, in the format that was asked for, or a plan as text",
)];
const ALGORITHMS: &str = "Lists the algorithms and layouts of the interface by library.";
const SHARING: Shape = Object(&[
    must("obj_pk", Text, "The dataset."),
    may("obj_type", OneOf(&["dataset"]), ""),
    may("mode", Nullable(&Text), "private, organization or public."),
    may(
        "mode_action",
        Nullable(&Either(&[Text, Count])),
        "What those may do whom the mode lets in: 10 to view, 20 to edit, 30 to share.",
    ),
    may("notify", Any, "Not done: the server sends no mail."),
    may("invited_users", Nullable(&List(&Either(&[Text, Map(&Any)]))), "Who is let in by name."),
    may("message", Nullable(&Text), "For those who are invited."),
]);

pub(crate) const ROUTES: &[Route] = &[
    Route::get(
        "/api/v2/datasets/",
        run!(Bearer list),
        &[returns(list_of!(DATASET), "A page of the list")],
        "Lists datasets, newest first.",
    )
    .query(PAGING),
    Route::get("/api/v2/datasets/{dataset_id}", run!(Bearer get), ONE, "Returns one dataset.")
        .either(),
    Route::new(
        Method::DELETE,
        "/api/v2/datasets/{dataset_id}",
        run!(Bearer delete),
        &[returns_nothing(204, "Deleted")],
        "Deletes a dataset.",
    )
    .either(),
    Route::post(
        "/api/v2/upload/datasets/",
        run!(Bearer create),
        RequestBody::Json(Named(&NEW_DATASET)),
        CREATED,
        "Creates a dataset that binds columns to graph roles.",
    ),
    Route::get(
        "/api/v2/upload/datasets/{dataset_id}",
        run!(Bearer get),
        ONE,
        "Returns one dataset.",
    ),
    Route::post(
        "/api/v2/upload/datasets/{dataset_id}/nodes/{format}",
        Handler::Bearer(|shell, req, who| Box::pin(direct(shell, req, who, ElementKind::Nodes))),
        RequestBody::Raw,
        UPLOADED,
        "Uploads the node table of a dataset; parse options are query parameters.",
    ),
    Route::post(
        "/api/v2/upload/datasets/{dataset_id}/edges/{format}",
        Handler::Bearer(|shell, req, who| Box::pin(direct(shell, req, who, ElementKind::Edges))),
        RequestBody::Raw,
        UPLOADED,
        "Uploads the edge table of a dataset; parse options are query parameters.",
    ),
    Route::post(
        "/api/v2/etl/datasets/{dataset_id}/gfql/{output_type}",
        run!(Bearer query),
        QUERY,
        ANSWERED,
        "Answers a GFQL query: all, nodes, edges or shape, as json, csv or parquet.",
    )
    .either()
    .reading(),
    Route::post(
        "/api/v2/etl/datasets/{dataset_id}/gfql",
        run!(Bearer query_all),
        QUERY,
        ANSWERED,
        "Answers a GFQL query with nodes and edges.",
    )
    .either()
    .reading(),
    Route::post(
        "/api/v2/datasets/{dataset_id}/gfql/{output_type}",
        run!(Bearer query),
        QUERY,
        ANSWERED,
        "Answers a GFQL query at the address that older clients use.",
    )
    .either()
    .reading(),
    Route::post(
        "/api/v2/datasets/{dataset_id}/gfql",
        run!(Bearer query_all),
        QUERY,
        ANSWERED,
        "Answers a GFQL query with nodes and edges at the older address.",
    )
    .either()
    .reading(),
    Route::post(
        "/api/v2/datasets/{dataset_id}/python",
        run!(Bearer no_python),
        RequestBody::Json(Map(&Any)),
        &[],
        "Refuses to run Python code.",
    )
    .either(),
    Route::get(
        "/api/v1/datasets/",
        run!(Public schema),
        &[returns(Map(&Any), "By library")],
        ALGORITHMS,
    ),
    Route::get(
        "/web/api/v1/datasets/",
        run!(Public schema),
        &[returns(Map(&Any), "By library")],
        ALGORITHMS,
    ),
    Route::post(
        "/api/v1/datasets/",
        run!(Bearer create_computed),
        RequestBody::Json(Named(&NEW_COMPUTED_DATASET)),
        CREATED,
        "Creates a dataset and names algorithms whose results become columns of its nodes.",
    ),
    Route::post(
        "/api/v2/share/link/",
        run!(Bearer share),
        RequestBody::Json(SHARING),
        &[returns(STATUS, "Shared")],
        "Sets who may see a dataset.",
    ),
    Route::get(
        "/api/v2/share/link/",
        run!(Bearer sharing),
        &[returns(STATUS, "How it is shared")],
        "Returns who may see a dataset, to those who may share it.",
    )
    .query(&[
        parameter("obj_pk", Text, "The dataset.").required(),
        parameter("obj_type", Text, "dataset, also when absent."),
    ]),
];

pub(crate) async fn list(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    Ok(listed(shell.service.datasets.list(&who, req.page(&shell)).await?))
}

pub(crate) async fn create(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let body = req.json().await?;
    json(StatusCode::CREATED, &shell.service.datasets.create(&who, &body).await?)
}

/// How a dataset is shared.
async fn sharing(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let pairs = req.pairs();
    let (dataset, kind) = (query::last(&pairs, "obj_pk"), query::last(&pairs, "obj_type"));
    let datasets = &shell.service.datasets;
    ok(&datasets.sharing(&who, dataset, kind).await?)
}

/// A create whose body may name algorithms to run.
pub(crate) async fn create_computed(
    shell: Arc<Shell>,
    req: Req,
    who: Principal,
) -> Result<Reply, ApiError> {
    let body = req.json().await?;
    json(StatusCode::CREATED, &shell.service.datasets.create_computed(&who, &body).await?)
}

/// What such a body may name.
async fn schema(_: Arc<Shell>, _: Req) -> Result<Reply, ApiError> {
    ok(&graphlume_engine::schema())
}

pub(crate) async fn get(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    ok(&shell.service.datasets.get(&who, req.param("dataset_id")).await?)
}

pub(crate) async fn delete(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    shell.service.delete_dataset(&who, req.param("dataset_id")).await?;
    Ok(no_content())
}

/// Nodes or edges straight into a dataset.
pub(crate) async fn direct(
    shell: Arc<Shell>,
    mut req: Req,
    who: Principal,
    part: ElementKind,
) -> Result<Reply, ApiError> {
    let id = req.param("dataset_id").to_owned();
    let format = req.param("format").to_owned();
    let (pairs, declared) = (req.pairs(), req.body.declared());
    let mut upload =
        shell.service.datasets.begin_part_upload(&who, &id, part, &format, pairs, declared).await?;
    while let Some(piece) = req.body.next().await? {
        shell.metrics.upload_bytes.inc_by(piece.len() as u64);
        upload.write(piece).await?;
    }
    ok(&upload.finish().await?)
}

/// A query; the last part of the address says what its answer holds.
pub(crate) async fn query(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let output = req.param("output_type").to_owned();
    answer(&shell, req, &who, &output).await
}

/// A query whose answer holds nodes and edges.
async fn query_all(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    answer(&shell, req, &who, "all").await
}

async fn answer(shell: &Shell, req: Req, who: &Principal, output: &str) -> Result<Reply, ApiError> {
    let id = req.param("dataset_id").to_owned();
    let body = req.json().await?;
    Ok(replied(shell.service.queries.query(who, &id, output, &body).await?))
}

/// The answer to a query, as it is sent.
pub(super) fn replied(answer: QueryReply) -> Reply {
    let mut reply = match answer.body {
        QueryBody::Whole(body) => Response::new(body),
        QueryBody::Stream(answer) => {
            let mut reply = Response::new(Bytes::new());
            held::hold(&mut reply, streamed(answer));
            reply
        }
    };
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(answer.media_type));
    if let Some(said) = notices_header(&answer.notices) {
        reply.headers_mut().insert(NOTICES_HEADER, said);
    }
    reply
}

/// An answer that is rendered while it is sent.
fn streamed(answer: AnswerStream) -> AnyBody {
    let pieces = stream::unfold(answer, |mut answer| async move {
        let piece = answer.next().await?;
        Some((piece.map(Frame::data), answer))
    });
    // The compressor asks once more behind the end.
    StreamBody::new(pieces.fuse()).map_err(Into::into).boxed_unsync()
}

/// The header of answers whose format has no place for notices.
const NOTICES_HEADER: HeaderName = HeaderName::from_static("x-graphlume-notices");
/// Notices that the header holds at most.
const HEADER_NOTICES_MAX: usize = 5;

/// The first notices as JSON; what is not ASCII is escaped.
fn notices_header(notices: &[Notice]) -> Option<HeaderValue> {
    if notices.is_empty() {
        return None;
    }
    let json = serde_json::to_string(&notices[..notices.len().min(HEADER_NOTICES_MAX)]).ok()?;
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii_graphic() || c == ' ' {
            text.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    HeaderValue::from_str(&text).ok()
}

/// Code of clients is never run here.
pub(crate) async fn no_python(_: Arc<Shell>, _: Req, _: Principal) -> Result<Reply, ApiError> {
    Err(ApiError::new(
        Code::Forbidden,
        "unsupported-operation",
        "this server runs no Python code; ask with gfql_remote instead of python_remote",
    ))
}

pub(crate) async fn share(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let body = req.json().await?;
    ok(&shell.service.datasets.share(&who, &body).await?)
}
