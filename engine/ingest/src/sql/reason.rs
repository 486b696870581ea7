//! Why a query cannot be carried out, in the words of the engine and with what may have been meant.

use graphlume_types::nearest;

use crate::error::clean;

/// Characters of a reason that are shown.
const CHARS_MAX: usize = 400;
/// Names that a reason lists.
const NAMES_MAX: usize = 12;

/// The engine's sentence about a query over `tables`, in one line.
pub(super) fn of_engine(said: &str, tables: &[String]) -> String {
    let hint = column_hint(said).or_else(|| table_hint(said, tables));
    let text = match said.find(" { ").filter(|_| said.contains("Location(")) {
        // What the engine has no words for it shows as its own syntax tree.
        Some(tree) => format!("{} is not supported{}", &said[..tree], place(&said[tree..])),
        None => said.to_owned(),
    };
    let mut out: String = clean(&text, CHARS_MAX);
    if let Some(hint) = hint {
        out.push_str("; ");
        out.push_str(&clean(&hint, CHARS_MAX));
    }
    out
}

/// The parser's sentence, which tells the line and the column.
pub(super) fn of_parser(said: &str) -> String {
    let said = said.strip_prefix("sql parser error: ").unwrap_or(said);
    format!("it is no SQL: {}", clean(said, CHARS_MAX))
}

/// Where the part of a query begins that a syntax tree shows.
fn place(tree: &str) -> String {
    let numbers = tree.split("Location(").skip(1).filter_map(|rest| {
        let (line, column) = rest.split(')').next()?.split_once(',')?;
        Some((line.trim().parse::<u64>().ok()?, column.trim().parse::<u64>().ok()?))
    });
    // Parts that the engine made itself stand at line 0.
    let first = numbers.filter(|(line, _)| *line > 0).min();
    first.map_or_else(String::new, |(line, column)| format!(" at Line: {line}, Column: {column}"))
}

/// Which name may have been meant; of many names, and of long ones, not all are compared.
fn near<'a>(asked: &str, names: &'a [String]) -> Option<&'a str> {
    const MOST: usize = 256;
    let short = names.iter().map(String::as_str).filter(|name| name.len() <= MOST);
    let compared: Vec<&str> = short.take(MOST).collect();
    if asked.len() > MOST { None } else { nearest(asked, &compared) }
}

/// For a column that is not there: the one that may have been meant.
fn column_hint(said: &str) -> Option<String> {
    let (asked, rest) = said.split_once("unable to find column \"")?.1.split_once('"')?;
    let list = rest.split_once("valid columns: ")?.1;
    let names: Vec<String> = serde_json::from_str(&list[..=list.rfind(']')?]).ok()?;
    let near = near(asked, &names)?;
    Some(format!("did you mean {near:?}?"))
}

/// For a table that is not there: those that are, and the one that may have been meant.
fn table_hint(said: &str, tables: &[String]) -> Option<String> {
    let asked = said.strip_prefix("relation '")?.split_once('\'')?.0;
    let shown = tables.iter().take(NAMES_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if tables.len() > NAMES_MAX { ", …" } else { "" };
    let near = near(asked, tables).map_or_else(String::new, |n| format!("did you mean {n:?}? "));
    Some(format!("{near}the tables are {shown}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_syntax_tree_becomes_its_place() {
        let said = "expression Exists { subquery: Query { span: Span(Location(0,0)..Location(0,0)), token: \
                    Span(Location(1,34)..Location(1,40)) } }";
        assert_eq!(
            of_engine(said, &[]),
            "expression Exists is not supported at Line: 1, Column: 34"
        );
    }

    #[test]
    fn a_reason_of_several_lines_keeps_them_all() {
        assert_eq!(
            of_engine("bad pattern:\n    (\n    ^\nunclosed group", &[]),
            "bad pattern: ( ^ unclosed group"
        );
        assert_eq!(of_engine(&"x".repeat(5_000), &[]).chars().count(), CHARS_MAX);
    }

    #[test]
    fn names_that_are_nearly_right_are_named() {
        let tables = ["data".to_owned(), "table_0".to_owned()];
        assert_eq!(
            of_engine("relation 'dat' was not found", &tables),
            "relation 'dat' was not found; did you mean \"data\"? the tables are data, table_0"
        );
        let column =
            "not found: unable to find column \"whoo\"; valid columns: [\"who\", \"knows\"]";
        assert!(of_engine(column, &tables).ends_with("; did you mean \"who\"?"));
        let far = column.replace("whoo", "weather");
        assert_eq!(of_engine(&far, &tables), far);
    }
}
