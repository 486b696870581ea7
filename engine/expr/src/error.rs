//! Why a query is refused: a code, a slug, what was wrong where, and what to write instead.

use std::fmt;

use graphlume_types::{Cancelled, Code, Coded, Notice, ResourcesExhausted};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $slug:literal;)*) => {
        /// The kinds of refusal, as the clients know them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $($(#[$doc])* $name,)* }

        impl ErrorCode {
            /// The number, such as `E301`.
            #[must_use]
            pub const fn number(self) -> &'static str {
                match self { $(Self::$name => $number,)* }
            }

            /// The name on the wire, such as `column-not-found`.
            #[must_use]
            pub const fn slug(self) -> &'static str {
                match self { $(Self::$name => $slug,)* }
            }
        }
    };
}

codes! {
    /// The query, or one of its operations, is of no known kind.
    ChainType = "E101", "invalid-chain-type";
    /// A filter's key is no text.
    FilterKey = "E102", "invalid-filter-key";
    /// Hop bounds that are no whole numbers or contradict each other.
    Hops = "E103", "invalid-hops-value";
    /// An edge direction that does not exist.
    Direction = "E104", "invalid-direction";
    /// A field that must be there is not.
    MissingField = "E105", "missing-required-field";
    /// A name that must not be empty is.
    Empty = "E106", "empty-chain";
    /// An expression that cannot be read.
    Syntax = "E107", "invalid-cypher-syntax";
    /// A query that is understood and not supported.
    Query = "E108", "unsupported-cypher-query";
    /// An output was named for a query that has no bindings.
    Output = "E109", "output-requires-let-query";
    /// An operation that this server does not do.
    Unsupported = "E110", "unsupported-operation";
    /// Two graphs of one name.
    DuplicateGraph = "E150", "duplicate-graph-binding";
    /// A name that no binding has.
    Unresolved = "E151", "unresolved-graph-reference";
    /// A graph that is named before it is made.
    ForwardGraph = "E152", "forward-graph-reference";
    /// Bindings that need each other.
    Circular = "E153", "circular-graph-reference";
    /// A clause that makes rows where a graph is made.
    GraphClause = "E154", "disallowed-graph-constructor-clause";
    /// A graph of no clauses.
    EmptyGraph = "E155", "empty-graph-constructor";
    /// A value of the wrong type.
    Type = "E201", "type-mismatch";
    /// A predicate that does not exist or has wrong parameters.
    Predicate = "E203", "invalid-predicate-value";
    /// A name that is no text.
    Name = "E204", "invalid-name-type";
    /// A query text that is no text.
    QueryType = "E205", "invalid-query-type";
    /// A column that the table does not have.
    Column = "E301", "column-not-found";
    /// A column whose type does not fit the test.
    ColumnType = "E302", "incompatible-column-type";
    /// A call that does not exist or may not be made here.
    Call = "E303", "invalid-node-reference";
    /// A traversal over a graph without edges.
    NoEdges = "E304", "invalid-edge-reference";
    /// No graph at all.
    NoGraph = "E305", "graph-not-bound";
    /// A call that failed while it ran.
    CallFailed = "E306", "call-execution-error";
    /// A limit of the server.
    Limit = "E110", "query-too-large";
    /// The query took too long.
    Timeout = "E110", "query-timeout";
    /// The query takes more memory than it may.
    Memory = "E110", "query-out-of-memory";
    /// The query was stopped.
    Stopped = "E110", "query-stopped";
    /// A defect of the engine.
    Internal = "E110", "internal-error";
}

/// A refused query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    code: ErrorCode,
    message: String,
    detail: Box<Detail>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Detail {
    field: Option<String>,
    value: Option<String>,
    suggestion: Option<String>,
    position: Option<usize>,
}

/// Characters of a value that a message shows.
const VALUE_CHARS: usize = 50;

impl QueryError {
    /// A refusal that says `message`.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), detail: Box::default() }
    }

    /// Names the field at fault.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.detail.field.get_or_insert(field.into());
        self
    }

    /// Shows the value at fault, shortened.
    #[must_use]
    pub fn value(mut self, value: impl fmt::Display) -> Self {
        let text = value.to_string();
        let short: String = text.chars().take(VALUE_CHARS).collect();
        let cut = short.len() < text.len();
        self.detail.value.get_or_insert(if cut { format!("{short}...") } else { short });
        self
    }

    /// Says what to do instead.
    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.detail.suggestion.get_or_insert(suggestion.into());
        self
    }

    /// Says which operation of the chain is at fault, counted from zero.
    #[must_use]
    pub fn at(mut self, position: usize) -> Self {
        self.detail.position.get_or_insert(position);
        self
    }

    /// The kind of refusal.
    #[must_use]
    pub const fn error_code(&self) -> ErrorCode {
        self.code
    }

    /// What is wrong, without field, value and suggestion.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The whole text without the slug.
    #[must_use]
    pub fn text(&self) -> String {
        let d = &self.detail;
        let mut text = self.message.clone();
        let parts = [("field", &d.field), ("value", &d.value), ("suggestion", &d.suggestion)];
        for (name, part) in parts {
            if let Some(part) = part {
                text.push_str(&format!(" | {name}: {part}"));
            }
        }
        if let Some(position) = d.position {
            text.push_str(&format!(" | operation_index: {position}"));
        }
        text
    }

    /// The field at fault, when one is named.
    #[must_use]
    pub fn field_name(&self) -> Option<&str> {
        self.detail.field.as_deref()
    }

    /// The suggestion, when there is one.
    #[must_use]
    pub fn suggestion(&self) -> Option<&str> {
        self.detail.suggestion.as_deref()
    }

    /// A column is missing; names the nearest one when there is one.
    #[must_use]
    pub fn no_column(name: &str, table: &str, columns: &[&str]) -> Self {
        let error = Self::new(
            ErrorCode::Column,
            format!("column {name:?} does not exist in the {table} table"),
        )
        .field(name);
        match nearest(name, columns) {
            Some(near) => error.suggest(format!("did you mean {near:?}?")),
            None => error.suggest(format!("available columns: {}", listed(columns))),
        }
    }

    /// What is said of a missing column where that is no error.
    #[must_use]
    pub fn taken_for_null(&self) -> Notice {
        let hint = self.detail.suggestion.as_ref().map_or_else(String::new, |h| format!(" ({h})"));
        let text = format!("{}{hint}: it counts as null in every row", self.message);
        Notice::new(self.code.slug(), text)
    }

    /// Counts the operation at fault from the beginning of a longer chain, whose first `steps` went well.
    #[must_use]
    pub fn after(mut self, steps: usize) -> Self {
        if let Some(position) = &mut self.detail.position {
            *position += steps;
        }
        self
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.code.slug(), self.text())
    }
}

impl std::error::Error for QueryError {}

impl Coded for QueryError {
    fn code(&self) -> Code {
        match self.code {
            ErrorCode::Unsupported => Code::Unsupported,
            ErrorCode::Limit | ErrorCode::Memory => Code::TooLarge,
            ErrorCode::Timeout => Code::DeadlineExceeded,
            ErrorCode::Stopped => Code::Cancelled,
            ErrorCode::Internal => Code::Internal,
            _ => Code::InvalidArgument,
        }
    }

    fn slug(&self) -> &'static str {
        self.code.slug()
    }

    fn field(&self) -> Option<&str> {
        self.detail.field.as_deref()
    }
}

impl From<Cancelled> for QueryError {
    fn from(stopped: Cancelled) -> Self {
        Self::new(ErrorCode::Stopped, stopped.to_string())
            .suggest("ask for less: fewer hops, narrower filters or a limit")
    }
}

impl From<ResourcesExhausted> for QueryError {
    fn from(refused: ResourcesExhausted) -> Self {
        let ResourcesExhausted { name, need, used, limit } = refused;
        let text = format!(
            "the query needs {need} bytes more than there are: {used} of the {limit} bytes of its \
             {name} memory are in use"
        );
        Self::new(ErrorCode::Memory, text).suggest(
            "filter earlier, ask for fewer hops or add a limit; or raise the memory budget",
        )
    }
}

impl From<arrow_schema::ArrowError> for QueryError {
    fn from(e: arrow_schema::ArrowError) -> Self {
        Self::new(ErrorCode::Internal, format!("the result cannot be gathered: {e}"))
    }
}

impl From<graphlume_table::TableError> for QueryError {
    fn from(e: graphlume_table::TableError) -> Self {
        Self::new(ErrorCode::Limit, e.to_string())
    }
}

impl From<graphlume_graph::GraphError> for QueryError {
    fn from(e: graphlume_graph::GraphError) -> Self {
        Self::new(ErrorCode::NoGraph, e.to_string())
    }
}

/// The name that is written most like `name`, if one is near enough to be meant.
#[must_use]
pub fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let allowed = name.chars().count() / 3 + 1;
    let scored = names
        .iter()
        .map(|n| (graphlume_types::nearest::distance(&name.to_lowercase(), &n.to_lowercase()), *n));
    scored.filter(|(d, _)| *d <= allowed).min_by_key(|(d, _)| *d).map(|(_, n)| n)
}

/// At most ten names, separated by commas.
pub fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(10).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 10 { format!("{shown}, ...") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_carries_the_slug_and_the_parts() {
        let e = QueryError::no_column("scoer", "node", &["id", "score", "name"]).at(2);
        let want = "[column-not-found] column \"scoer\" does not exist in the node table \
                    | field: scoer | suggestion: did you mean \"score\"? | operation_index: 2";
        assert_eq!(e.to_string(), want);
        assert_eq!((e.error_code().number(), Coded::field(&e)), ("E301", Some("scoer")));
    }

    #[test]
    fn far_names_are_listed_and_long_values_are_cut() {
        let e = QueryError::no_column("zzz", "node", &["id", "score"]);
        assert_eq!(e.suggestion(), Some("available columns: id, score"));
        let long = QueryError::new(ErrorCode::Type, "no").value("x".repeat(80)).to_string();
        assert!(long.ends_with(&format!("{}...", "x".repeat(50))));
    }
}
