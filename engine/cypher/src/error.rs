//! Refusals of Cypher queries: what is wrong at which character, and what to write instead.

use graphlume_expr::{ErrorCode, QueryError};

/// The result of evaluating something; boxed so that the good case stays small.
pub(crate) type Res<T> = Result<T, Box<QueryError>>;

/// The text cannot be read; `offset` is a byte offset.
pub(crate) fn syntax(text: &str, offset: usize, what: impl Into<String>) -> QueryError {
    placed(ErrorCode::Syntax, text, offset, what)
}

/// A refusal that says where.
pub(crate) fn placed(
    code: ErrorCode,
    text: &str,
    place: usize,
    what: impl Into<String>,
) -> QueryError {
    let before = text.get(..place).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    let offset = before.chars().count();
    let what = what.into();
    QueryError::new(code, format!("{what} (character {offset}: line {line}, column {column})"))
        .field("query")
}

/// A value of the wrong type.
pub(crate) fn type_error(what: impl Into<String>) -> Box<QueryError> {
    Box::new(QueryError::new(ErrorCode::Type, what))
}

/// A value that a function does not take.
pub(crate) fn value_error(what: impl Into<String>) -> Box<QueryError> {
    Box::new(QueryError::new(ErrorCode::Predicate, what))
}

/// A limit that was met.
pub(crate) fn limit_error(what: impl Into<String>) -> Box<QueryError> {
    Box::new(
        QueryError::new(ErrorCode::Limit, what)
            .suggest("ask for less: narrower patterns, shorter paths or a LIMIT"),
    )
}

/// A defect of the engine.
pub(crate) fn internal(what: &str) -> Box<QueryError> {
    Box::new(QueryError::new(ErrorCode::Internal, what))
}
