//! Texts that the grammar takes, and its refusals of others.

use graphlume_expr::{Cmp, Scalar};

use super::*;
use crate::rule::Axis;

/// The tree in brackets, names with their axes.
fn shown(expr: &Expr) -> String {
    let value = |literal: &Literal| match &literal.value {
        Scalar::Null => "null".to_owned(),
        Scalar::Bool(v) => v.to_string(),
        Scalar::Int(v) => v.to_string(),
        Scalar::UInt(v) => v.to_string(),
        Scalar::Float(v) => format!("{v:?}"),
        Scalar::Text(v) => format!("{v:?}"),
        Scalar::Temporal(v) => v.to_string(),
    };
    let list = |list: &[Literal]| list.iter().map(value).collect::<Vec<_>>().join(",");
    match expr {
        Expr::And(all) => format!("({})", all.iter().map(shown).collect::<Vec<_>>().join(" and ")),
        Expr::Or(all) => format!("({})", all.iter().map(shown).collect::<Vec<_>>().join(" or ")),
        Expr::Test(name, test, not) => {
            let axis = name.axis.map_or(String::new(), |axis| format!("{}:", axis.name()));
            let test = match test {
                Test::IsNull => "is null".to_owned(),
                Test::Compare(cmp, with) => {
                    let sign = match cmp {
                        Cmp::Eq => "=",
                        Cmp::Ne => "!=",
                        Cmp::Lt => "<",
                        Cmp::Le => "<=",
                        Cmp::Gt => ">",
                        Cmp::Ge => ">=",
                    };
                    format!("{sign} {}", value(with))
                }
                Test::In(values) => format!("in [{}]", list(values)),
                Test::Between(low, high) => format!("between {} {}", value(low), value(high)),
                Test::Like(pattern, fold) => {
                    format!("{} {}", if *fold { "ilike" } else { "like" }, value(pattern))
                }
            };
            let not = if *not { "not " } else { "" };
            format!("{axis}{} {not}{test}", name.name)
        }
    }
}

#[test]
fn what_the_clients_write_is_read() {
    for (text, tree) in [
        // As the JavaScript and React clients have it in their examples.
        ("point:degree > 1", "node:degree > 1"),
        ("point:community_infomap in (4, 5, 6)", "node:community_infomap in [4,5,6]"),
        ("edge:id = 1", "edge:id = 1"),
        (
            "point:degree > 3 and point:kind in ('a','b')",
            "(node:degree > 3 and node:kind in [\"a\",\"b\"])",
        ),
        ("node:a == -1.5e3", "node:a = -1500.0"),
        ("a != 1 or b <> 2 and c <= 3", "(a != 1 or (b != 2 and c <= 3))"),
        ("(a = 1 or b = 2) AND c >= .5", "((a = 1 or b = 2) and c >= 0.5)"),
        ("not a = 1", "a not = 1"),
        ("NOT (a = 1 and not b is null)", "(a not = 1 or b is null)"),
        ("a is not null", "a not is null"),
        ("a not in ('it''s', \"q\", null, TRUE)", "a not in [\"it's\",\"q\",null,true]"),
        ("a between 1 and 2 and b < 3", "(a between 1 2 and b < 3)"),
        ("a not between 1 and 2", "a not between 1 2"),
        ("name like 'a%' or name not ilike '_B'", "(name like \"a%\" or name not ilike \"_B\")"),
        ("point:\"two words\" = \"one\"", "node:two words = \"one\""),
        ("`and` = 'x' and edge.w > 2", "(and = \"x\" and edge.w > 2)"),
        ("3 < degree and 'x' = kind", "(degree > 3 and kind = \"x\")"),
        ("größe>=-2", "größe >= -2"),
        ("t >= '2024-01-31T08:30:00Z'", "t >= \"2024-01-31T08:30:00Z\""),
    ] {
        let read = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(shown(&read), tree, "{text}");
    }
    let read = parse("edge:w = 1").unwrap();
    assert_eq!(read.names()[0].axis, Some(Axis::Edge));
    assert_eq!(parse("a = 1 or  point:b > 2").unwrap().names()[1].at, 11);
}

#[test]
fn the_rest_is_refused_with_its_place() {
    for (text, said) in [
        ("", "the name of a column is expected, and there is the end at character 1"),
        ("degree", "a comparison is expected, and there is the end at character 7"),
        ("degree >", "a value is expected, and there is the end at character 9"),
        (
            "degree > 3 kind = 'a'",
            "and, or, or the end is expected, and there is the word \"kind\" at character 12",
        ),
        ("a = b", "a text goes into quotes: 'b'"),
        ("a = 'b", "the quote ' is not closed, which begins at character 5"),
        ("a = 1 && b = 2", "write and"),
        ("a = 1 || b = 2", "write or"),
        ("!(a = 1)", "write not"),
        ("a + 1 > 2", "the sign '+' means nothing at character 3"),
        ("lower(a) = 'x'", "there are no functions"),
        ("a in 'x'", "an opening bracket is expected"),
        ("a in ('x' 'y')", "a comma or a closing bracket is expected"),
        ("a in ()", "a value is expected, and there is the sign ')' at character 7"),
        ("(a = 1", "a closing bracket is expected, and there is the end at character 7"),
        ("a is true", "null is expected"),
        ("a between 1", "and is expected"),
        ("a like 3", "a text in quotes is expected at character 8"),
        ("a not = 1", "in, between, like or ilike is expected"),
        ("line:a = 1", "\"line\" is no kind of element at character 1"),
        ("and = 1", "the name of a column is expected"),
        ("a = 12x", "\"12x\" is no number at character 5"),
        ("1 = 1", "the name of a column is expected"),
        ("a; drop", "the sign ';' means nothing at character 2"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(said) && error.contains("field: expr"), "{text}: {error}");
    }
}

#[test]
fn what_is_too_deep_or_too_long_is_refused() {
    let deep = format!("{}a = 1{}", "(".repeat(1_000), ")".repeat(1_000));
    assert!(parse(&deep).unwrap_err().to_string().contains("leave out brackets"));
    let fine = format!("{}a = 1{}", "(".repeat(60), ")".repeat(60));
    assert_eq!(shown(&parse(&fine).unwrap()), "a = 1");
    let long = format!("a = '{}'", "x".repeat(1 << 16));
    assert!(parse(&long).unwrap_err().to_string().contains("has to end"));
    let nots = "not ".repeat(1_000) + "a = 1";
    assert!(parse(&nots).is_err());
}
