//! The algorithms and the layout that a dataset names, as jobs.

use std::sync::Arc;

use graphlume_service::Principal;
use http::Method;

use super::ok;
use crate::reply::Reply;
use crate::request::Req;
use crate::route::{Route, run};
use crate::schema::Shape::{Count, List, Nullable, Number, Object, OneOf, Text};
use crate::schema::{Shape, must, returns};
use crate::state::Shell;
use crate::status::ApiError;

const JOB: Shape = Object(&[
    must("id", Text, "Its number within the dataset."),
    must("field", Text, "The member of the dataset that asks for it, such as compute.rank."),
    must("algorithm", Text, "Library and name."),
    must("state", OneOf(&["pending", "running", "done", "failed", "cancelled"]), ""),
    must("begun_at", Nullable(&Text), "ISO 8601, null before it has begun."),
    must("seconds", Nullable(&Number), "How long it has run, null before it has begun."),
    must("limit_seconds", Count, "How long it may run."),
    must("message", Nullable(&Text), "Why it gave no columns, else null."),
]);

pub(crate) const ROUTES: &[Route] = &[
    Route::get(
        "/api/v2/datasets/{dataset_id}/jobs",
        run!(Bearer list),
        &[returns(
            Object(&[must("results", List(&JOB), "In the order in which they run.")]),
            "The jobs",
        )],
        "Lists the algorithms and the layout that a dataset names, with where they are.",
    )
    .either(),
    Route::new(
        Method::DELETE,
        "/api/v2/datasets/{dataset_id}/jobs/{job_id}",
        run!(Bearer cancel),
        &[returns(JOB, "Where it is now")],
        "Cancels one of them unless it has ended: the dataset is then without its columns.",
    )
    .either(),
];

async fn list(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    ok(&shell.service.datasets.jobs(&who, req.param("dataset_id")).await?)
}

async fn cancel(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let (dataset, job) = (req.param("dataset_id"), req.param("job_id"));
    ok(&shell.service.datasets.cancel_job(&who, dataset, job).await?)
}
