//! Notices about a text beside its table.

use super::*;

fn told(text: &str, opts: Value, tuning: Tuning) -> Told {
    let opts = options(opts);
    let dialect = Dialect::new(Options(&opts)).unwrap();
    parse_with(text.as_bytes(), dialect, tuning, &ParseCx::default()).unwrap().1
}

#[test]
fn numbers_that_no_float_is_are_counted_wherever_chunks_begin() {
    let text = |middle: &str| {
        format!(
            "a\n1\n9007199254740993\n{middle}\n2.5\n9007199254740993\n18446744073709551615\n0.12345678901234567891\n"
        )
    };
    let small = Tuning { chunk_bytes: Some(8), ..Tuning::default() };
    for tuning in [Tuning::default(), small] {
        let said = told(&text("7"), Value::Null, tuning);
        assert!(said.cut.len() == 1 && said.cut[0].contains("\"a\" holds 4 numbers"), "{said:?}");
        assert!(told(&text("word"), Value::Null, tuning).cut.is_empty(), "text keeps the digits");
        let exact = told(
            "a\n0.1\n9007199254740992\n0.30000000000000004\n0.1000000000000000055511\n",
            Value::Null,
            tuning,
        );
        assert!(exact.cut.is_empty(), "{exact:?}");
        let asked = told(&text("7"), json!({"dtype": {"a": "float64"}}), tuning);
        assert!(asked.cut.is_empty(), "{asked:?}");
        let ids = told("a\n9007199254740993\n18446744073709551615\n", Value::Null, tuning);
        assert!(ids.cut.is_empty(), "{ids:?}");
    }
}

#[test]
fn options_that_change_nothing_are_named() {
    for (opts, names) in [
        (json!({"quoting": 3, "quotechar": "'"}), &["quotechar"][..]),
        (json!({"sep": ", *", "quotechar": "'", "escapechar": "\\"}), &["quotechar", "escapechar"]),
        (json!({"sep": ", *", "quoting": 3, "quotechar": "'"}), &["quotechar"]),
        (json!({"sep": ";", "delimiter": ","}), &["delimiter"]),
        (json!({"delim_whitespace": true, "sep": ";"}), &["delim_whitespace", "sep"]),
        (json!({"delim_whitespace": true, "delimiter": ";"}), &["delim_whitespace", "delimiter"]),
        (json!({"na_filter": false, "na_values": ["x"]}), &["na_values"]),
        (json!({"na_filter": false, "keep_default_na": false}), &["keep_default_na"]),
        (json!({"sep": ", *", "comment": "#", "na_filter": false, "na_values": ["x"]}), &[]),
        (json!({"quotechar": "'", "escapechar": "\\", "sep": ";", "na_values": ["x"]}), &[]),
    ] {
        let said = told("a\n1\n", opts.clone(), Tuning::default()).warnings;
        let named: Vec<_> = said.iter().map(|s| s.split('`').nth(1).unwrap_or_default()).collect();
        assert_eq!(named, names, "{opts}: {said:?}");
    }
}
