//! Tasks of the runtime and what came of them.

use crate::error::ServiceError;

/// The outcome of a task; one that panicked is a defect of ours.
pub(crate) fn joined<T>(
    outcome: Result<Result<T, ServiceError>, tokio::task::JoinError>,
) -> Result<T, ServiceError> {
    outcome.unwrap_or_else(|e| {
        tracing::error!(error = %e, "a task failed");
        Err(ServiceError::Internal("a task of the server failed".to_owned()))
    })
}

/// Runs `work` to its end even when the caller goes away: what was written must also be told.
pub(crate) async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, ServiceError>> + Send + 'static,
) -> Result<T, ServiceError> {
    joined(tokio::spawn(work).await)
}
