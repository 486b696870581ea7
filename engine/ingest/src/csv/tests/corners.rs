//! Corners of options where a careless reader and pandas part.

use super::*;

#[test]
fn names_may_be_as_many_as_the_widest_record_up_to_the_header() {
    let opts = |names: &[&str]| json!({"sep": " ", "header": 1, "names": names});
    let t = read("a b c d\n1 2\nx 5 y\n", opts(&["p", "q", "r", "s"]));
    assert_eq!((t.column_names(), cells(&t)), (vec!["p", "q", "r", "s"], "x|5|y|~".into()));
    // And yet no record may have more cells than the first one.
    let e = fails("a b c d\n1 2\nx 5 y\nx 5 y z\n", opts(&["p", "q", "r", "s"]));
    assert_eq!(e.to_record().row, Some(4), "{e}");
    let e = fails("a b c\n1 2\nx 5 y\n", opts(&["p", "q", "r", "s"]));
    assert_eq!((e.slug(), e.field()), ("invalid-option", Some("names")));
}

#[test]
fn names_of_picked_columns_are_checked_where_no_row_is_read_too() {
    let opts = |nrows: u64| json!({"names": ["x", "y"], "usecols": ["y"], "nrows": nrows});
    assert_eq!(fails("1,2,3\n", opts(0)).field(), Some("names"));
    assert_eq!(fails("1,2,3\n", opts(1)).field(), Some("names"));
    assert_eq!(read("1,2\n", opts(0)).column_names(), ["y"]);
}

#[test]
fn records_of_the_footer_need_not_fit() {
    let opts = |footer: u64| json!({"names": ["u"], "header": 0, "skipfooter": footer});
    let t = read("a,b\n1\n2\n", opts(2));
    assert_eq!((t.column_names(), t.num_rows()), (vec!["u"], 0));
    assert_eq!(fails("a,b\n1\n2\n", opts(1)).field(), Some("names"));
    let t = read("a,b,c\n1,2,3,4\n", json!({"usecols": [0], "skipfooter": 1}));
    assert_eq!((t.column_names(), t.num_rows()), (vec!["a"], 0));
    let t = read("a\n\"never closed\n1\n", json!({"skipfooter": 1}));
    assert_eq!((t.column_names(), t.num_rows()), (vec!["a"], 0));
    // Without names, the width is that of the first record even so.
    let t = read("1,2\n", json!({"header": "none", "skipfooter": 1}));
    assert_eq!((t.column_names(), t.num_rows()), (vec!["0", "1"], 0));
}

#[test]
fn infinity_is_a_word_and_has_no_blanks_around_it() {
    let t = read("a,b\ninf, inf\n1.5,1.5\n", Value::Null);
    assert_eq!(
        (dtypes(&t), cells(&t)),
        (vec!["float64".into(), "object".into()], "inf| inf\n1.5|1.5".into())
    );
    let e = fails("a\ninf \n", json!({"dtype": "float64"}));
    assert!(e.to_string().contains("is not a number"), "{e}");
}

#[test]
fn the_two_boolean_types_take_numbers_as_pandas_has_it() {
    let read_as = |dtype: &str, text: &str| {
        let got = read_with(text.as_bytes(), json!({"dtype": dtype}), Tuning::default());
        got.map(|t| (dtypes(&t).join(" "), cells(&t)))
    };
    let bools = |text: &str| ("bool".to_owned(), text.to_owned());
    // `bool` is made of numbers, however they are written; `boolean` knows words, 1 and 0 among them.
    assert_eq!(
        read_as("boolean", "a\nTrue\n0\n1.0\nfalse\n").unwrap(),
        bools("true\nfalse\ntrue\nfalse")
    );
    assert_eq!(read_as("bool", "a\n-0\n01\n1e0\n").unwrap(), bools("false\ntrue\ntrue"));
    for number in ["-0", "01", "+1", "1.", "1e0", " 1", "2"] {
        assert!(read_as("boolean", &format!("a\n{number}\n")).is_err(), "{number}");
    }
    for mixture in ["a\nTrue\n1\n", "a\n2\n", "a\n0.5\n"] {
        assert!(read_as("bool", mixture).is_err(), "{mixture}");
    }
}
