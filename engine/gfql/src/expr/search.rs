//! `searchAny`: whether any property of a node or an edge contains a text.

use graphlume_store::filter::Pattern;

use graphlume_expr::cell::Cell;
use graphlume_expr::{ErrorCode, QueryError, Scalar};

/// What is looked for, and where.
pub(super) struct Search {
    /// The term as a pattern of the whole value.
    pattern: String,
    /// Whether the term looks like a number, for only such are looked for in numbers.
    number: bool,
    columns: Option<Vec<String>>,
}

fn wrong(what: &str, value: &Cell) -> QueryError {
    QueryError::new(ErrorCode::ColumnType, what).field("searchAny").value(value.text()).suggest(
        "write searchAny(n, 'text', {caseSensitive: false, regex: false, columns: ['name']})",
    )
}

impl Search {
    pub(super) fn new(term: &Cell, options: Option<&Cell>) -> Result<Self, QueryError> {
        let Cell::Scalar(Scalar::Text(term)) = term else {
            return Err(wrong("searchAny looks for a text", term));
        };
        let (mut case, mut regex, mut columns) = (false, false, None);
        let fields = match options {
            None | Some(Cell::Scalar(Scalar::Null)) => &[][..],
            Some(Cell::Map(fields)) => fields.as_slice(),
            Some(other) => return Err(wrong("the options of searchAny are a map", other)),
        };
        for (name, value) in fields {
            match (name.to_ascii_lowercase().replace('_', "").as_str(), value) {
                ("casesensitive", Cell::Scalar(Scalar::Bool(v))) => case = *v,
                ("regex", Cell::Scalar(Scalar::Bool(v))) => regex = *v,
                ("columns", Cell::List(names)) => {
                    columns = Some(names.iter().map(Cell::text).collect());
                }
                (_, Cell::Scalar(Scalar::Null)) => {}
                _ => return Err(wrong(&format!("searchAny has no such option {name:?}"), value)),
            }
        }
        let flags = if case { "s" } else { "is" };
        let inner = if regex { term.to_string() } else { regex::escape(term) };
        let digits = |b: u8| b.is_ascii_digit() || b == b'.' || b == b'-';
        Ok(Self {
            pattern: format!("(?s:.*)(?{flags}:{inner})(?s:.*)"),
            number: !term.is_empty() && term.bytes().all(digits),
            columns,
        })
    }

    pub(super) fn run(
        &self,
        element: &Cell,
        pattern: impl Fn(&str) -> Result<Pattern, QueryError>,
    ) -> Result<Cell, QueryError> {
        let entity = match element {
            Cell::Scalar(Scalar::Null) => return Ok(Cell::NULL),
            Cell::Entity(entity) => entity,
            other => return Err(wrong("searchAny looks into a node or an edge", other)),
        };
        let pattern = pattern(&self.pattern)?;
        let looked = entity.properties.iter().filter(|(name, value)| match &self.columns {
            Some(columns) => columns.contains(name),
            None => match value {
                Cell::Scalar(Scalar::Text(_)) => true,
                Cell::Scalar(Scalar::Int(_) | Scalar::UInt(_)) => self.number,
                _ => false,
            },
        });
        let mut texts = looked.map(|(_, value)| value.text());
        Ok(Cell::bool(texts.any(|text| pattern.is_match(&text))))
    }
}
