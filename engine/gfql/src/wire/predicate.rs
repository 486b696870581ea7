//! Predicate objects to [`Predicate`].

use graphlume_expr::{Cmp, ErrorCode, QueryError, Scalar, nearest};
use graphlume_store::filter::{Calendar, Class, Keep, Pattern, PatternError, Predicate, TextTest};
use graphlume_types::limits::{QUERY_DEPTH_MAX, QUERY_OPTIONS_MAX, QUERY_TEXT_CHARS_MAX};
use serde_json::{Map, Value};

use super::value::literal;

type Object = Map<String, Value>;

/// Predicates and the parameters each takes.
const KINDS: &[(&str, &[&str])] = &[
    ("GT", &["val"]),
    ("LT", &["val"]),
    ("GE", &["val"]),
    ("LE", &["val"]),
    ("EQ", &["val"]),
    ("NE", &["val"]),
    ("Between", &["lower", "upper", "inclusive"]),
    ("IsIn", &["options"]),
    ("IsNA", &[]),
    ("IsNull", &[]),
    ("NotNA", &[]),
    ("NotNull", &[]),
    ("Contains", &["pat", "case", "flags", "na", "regex"]),
    ("Startswith", &["pat", "case", "na"]),
    ("Endswith", &["pat", "case", "na"]),
    ("Match", &["pat", "case", "flags", "na"]),
    ("Fullmatch", &["pat", "case", "flags", "na"]),
    ("IsNumeric", &[]),
    ("IsAlpha", &[]),
    ("IsDigit", &[]),
    ("IsLower", &[]),
    ("IsUpper", &[]),
    ("IsSpace", &[]),
    ("IsAlnum", &[]),
    ("IsDecimal", &[]),
    ("IsTitle", &[]),
    ("IsMonthStart", &[]),
    ("IsMonthEnd", &[]),
    ("IsQuarterStart", &[]),
    ("IsQuarterEnd", &[]),
    ("IsYearStart", &[]),
    ("IsYearEnd", &[]),
    ("IsLeapYear", &[]),
    ("Duplicated", &["keep"]),
    ("AllOf", &["predicates"]),
    ("NeverMatch", &[]),
];

/// The test that a filter's value asks for: equality, membership or a predicate.
pub(super) fn test(column: &str, value: &Value) -> Result<Predicate, QueryError> {
    match value {
        Value::Array(items) => {
            let read = |v: &Value| {
                Scalar::from_json(v).ok_or_else(|| {
                    bad(ErrorCode::Type, "a list to match holds only scalars", column, v)
                })
            };
            Ok(Predicate::Member(options(items, read)?))
        }
        Value::Object(object) => predicate(object, column, 0),
        other => match Scalar::from_json(other) {
            Some(v) => Ok(Predicate::Same(v)),
            None => Err(bad(ErrorCode::Type, "the value is out of range", column, other)),
        },
    }
}

fn bad(code: ErrorCode, message: &str, field: &str, value: &Value) -> QueryError {
    QueryError::new(code, message).field(field).value(value)
}

fn options(
    items: &[Value],
    read: impl Fn(&Value) -> Result<Scalar, QueryError>,
) -> Result<Vec<Scalar>, QueryError> {
    if items.len() > QUERY_OPTIONS_MAX {
        let text = format!("{} values to match; the limit is {QUERY_OPTIONS_MAX}", items.len());
        return Err(QueryError::new(ErrorCode::Limit, text).suggest("filter by a column instead"));
    }
    items.iter().map(read).collect()
}

fn predicate(object: &Object, column: &str, depth: usize) -> Result<Predicate, QueryError> {
    let kind = object.get("type").and_then(Value::as_str).ok_or_else(|| {
        bad(
            ErrorCode::Predicate,
            "a predicate is an object with a type",
            column,
            &object.clone().into(),
        )
        .suggest("for example {\"type\": \"GT\", \"val\": 3}")
    })?;
    let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
    let Some((_, known)) = KINDS.iter().find(|(name, _)| *name == kind) else {
        let error =
            QueryError::new(ErrorCode::Predicate, format!("predicate {kind:?} does not exist"));
        let hint = nearest(kind, &names).unwrap_or("EQ");
        return Err(error.field(column).value(kind).suggest(format!("did you mean {hint:?}?")));
    };
    if let Some(unknown) = object.keys().find(|k| *k != "type" && !known.contains(&k.as_str())) {
        let text = format!("predicate {kind:?} has no parameter {unknown:?}");
        let error = QueryError::new(ErrorCode::Predicate, text).field(column);
        return Err(error.suggest(format!("its parameters are: {}", known.join(", "))));
    }
    let p = Params { object, column, kind };
    Ok(match kind {
        "GT" => p.comparison(Cmp::Gt)?,
        "LT" => p.comparison(Cmp::Lt)?,
        "GE" => p.comparison(Cmp::Ge)?,
        "LE" => p.comparison(Cmp::Le)?,
        "EQ" => p.comparison(Cmp::Eq)?,
        "NE" => p.comparison(Cmp::Ne)?,
        "Between" => p.between()?,
        "IsIn" => p.is_in()?,
        "IsNA" | "IsNull" => Predicate::IsNull,
        "NotNA" | "NotNull" => Predicate::NotNull,
        "Contains" | "Startswith" | "Endswith" | "Match" | "Fullmatch" => p.text()?,
        "IsNumeric" => Predicate::Class(Class::Numeric),
        "IsAlpha" => Predicate::Class(Class::Alpha),
        "IsDigit" => Predicate::Class(Class::Digit),
        "IsLower" => Predicate::Class(Class::Lower),
        "IsUpper" => Predicate::Class(Class::Upper),
        "IsSpace" => Predicate::Class(Class::Space),
        "IsAlnum" => Predicate::Class(Class::Alnum),
        "IsDecimal" => Predicate::Class(Class::Decimal),
        "IsTitle" => Predicate::Class(Class::Title),
        "IsMonthStart" => Predicate::Calendar(Calendar::MonthStart),
        "IsMonthEnd" => Predicate::Calendar(Calendar::MonthEnd),
        "IsQuarterStart" => Predicate::Calendar(Calendar::QuarterStart),
        "IsQuarterEnd" => Predicate::Calendar(Calendar::QuarterEnd),
        "IsYearStart" => Predicate::Calendar(Calendar::YearStart),
        "IsYearEnd" => Predicate::Calendar(Calendar::YearEnd),
        "IsLeapYear" => Predicate::Calendar(Calendar::LeapYear),
        "Duplicated" => p.duplicated()?,
        "AllOf" => p.all(depth)?,
        _ => Predicate::Never,
    })
}

struct Params<'a> {
    object: &'a Object,
    column: &'a str,
    kind: &'a str,
}

impl Params<'_> {
    fn required(&self, name: &str) -> Result<&Value, QueryError> {
        self.object.get(name).filter(|v| !v.is_null()).ok_or_else(|| {
            let text = format!("predicate {:?} needs {name:?}", self.kind);
            QueryError::new(ErrorCode::Predicate, text).field(self.column)
        })
    }

    fn wrong(&self, name: &str, want: &str, value: &Value) -> QueryError {
        let text = format!("{name:?} of predicate {:?} must be {want}", self.kind);
        QueryError::new(ErrorCode::Type, text).field(self.column).value(value)
    }

    fn flag(&self, name: &str, default: bool) -> Result<bool, QueryError> {
        match self.object.get(name) {
            None | Some(Value::Null) => Ok(default),
            Some(Value::Bool(v)) => Ok(*v),
            Some(other) => Err(self.wrong(name, "true or false", other)),
        }
    }

    fn comparison(&self, cmp: Cmp) -> Result<Predicate, QueryError> {
        Ok(Predicate::Compare(cmp, literal(self.required("val")?, self.column)?))
    }

    fn between(&self) -> Result<Predicate, QueryError> {
        let low = literal(self.required("lower")?, self.column)?;
        let high = literal(self.required("upper")?, self.column)?;
        let numbers = low.is_number_or_bool() && high.is_number_or_bool();
        let alike = numbers || low.is_temporal() && high.is_temporal();
        if !alike {
            let value = Value::Object(self.object.clone());
            return Err(self.wrong("lower and upper", "both numbers or both temporal", &value));
        }
        Ok(Predicate::Between(low, high, self.flag("inclusive", true)?))
    }

    fn is_in(&self) -> Result<Predicate, QueryError> {
        let value = self.required("options")?;
        let Some(items) = value.as_array() else {
            return Err(self.wrong("options", "a list", value));
        };
        let options = options(items, |v| literal(v, self.column))?;
        if options.iter().any(Scalar::is_temporal) && options.iter().any(Scalar::is_number_or_bool)
        {
            return Err(self.wrong("options", "all temporal or none", value));
        }
        Ok(Predicate::IsIn(options))
    }

    fn duplicated(&self) -> Result<Predicate, QueryError> {
        Ok(Predicate::Duplicated(match self.object.get("keep") {
            None => Keep::First,
            Some(Value::String(keep)) if keep == "first" => Keep::First,
            Some(Value::String(keep)) if keep == "last" => Keep::Last,
            Some(Value::Bool(false)) => Keep::None,
            Some(other) => return Err(self.wrong("keep", "\"first\", \"last\" or false", other)),
        }))
    }

    fn all(&self, depth: usize) -> Result<Predicate, QueryError> {
        let value = self.required("predicates")?;
        let items = value.as_array().filter(|items| !items.is_empty() && depth < QUERY_DEPTH_MAX);
        let Some(items) = items else {
            return Err(self.wrong("predicates", "a list of at least one predicate", value));
        };
        let part = |v: &Value| match v.as_object() {
            Some(object) => predicate(object, self.column, depth + 1),
            None => Err(self.wrong("predicates", "a list of predicates", v)),
        };
        Ok(Predicate::All(items.iter().map(part).collect::<Result<_, _>>()?))
    }

    fn patterns(&self) -> Result<Vec<String>, QueryError> {
        let value = self.required("pat")?;
        let several = self.kind == "Startswith" || self.kind == "Endswith";
        let texts = match value {
            Value::String(one) => vec![one.clone()],
            Value::Array(items) if several => {
                let texts = items.iter().map(|v| v.as_str().map(str::to_owned));
                texts.collect::<Option<_>>().ok_or_else(|| self.wrong("pat", "texts", value))?
            }
            other => return Err(self.wrong("pat", "a text", other)),
        };
        if texts.iter().any(|t| t.chars().count() > QUERY_TEXT_CHARS_MAX) {
            let text = format!("a pattern is longer than {QUERY_TEXT_CHARS_MAX} characters");
            return Err(QueryError::new(ErrorCode::Limit, text).field(self.column));
        }
        Ok(texts)
    }

    fn text(&self) -> Result<Predicate, QueryError> {
        let mut patterns = self.patterns()?;
        let case = self.flag("case", true)?;
        let na = self.flag("na", false)?;
        let flags = match self.object.get("flags") {
            None | Some(Value::Null) => 0,
            Some(v) => v.as_u64().ok_or_else(|| self.wrong("flags", "a whole number", v))?,
        };
        let plain = self.kind == "Contains" && !self.flag("regex", true)?;
        let boundary = self.kind == "Startswith" || self.kind == "Endswith";
        if plain || boundary {
            let fold = !case || flags & IGNORE_CASE != 0;
            if fold {
                patterns = patterns.iter().map(|p| p.to_lowercase()).collect();
            }
            let test = match self.kind {
                "Startswith" => TextTest::Starts(patterns),
                "Endswith" => TextTest::Ends(patterns),
                _ => TextTest::Contains(patterns.swap_remove(0)),
            };
            return Ok(Predicate::Text { test, fold, na });
        }
        let flags = if case { flags } else { flags | IGNORE_CASE };
        let pattern = match self.kind {
            "Match" => format!(r"\A(?:{})", patterns[0]),
            "Fullmatch" => format!(r"\A(?:{})\z", patterns[0]),
            _ => patterns.swap_remove(0),
        };
        let test = TextTest::Regex(regex(&pattern, flags).map_err(|e| {
            let (code, hint) = match e {
                PatternError::Syntax(_) => {
                    (ErrorCode::Predicate, graphlume_store::filter::NO_LOOK_AROUND)
                }
                PatternError::TooMany => (ErrorCode::Limit, "list plain values with IsIn instead"),
                PatternError::TooLarge => {
                    (ErrorCode::Limit, "shorten repetitions such as {60}, and write [a-z] for \\w")
                }
            };
            QueryError::new(code, format!("the pattern cannot be used: {e}"))
                .field(self.column)
                .value(format!("{:?}", self.object.get("pat").unwrap_or(&Value::Null)))
                .suggest(hint)
        })?);
        Ok(Predicate::Text { test, fold: false, na })
    }
}

const IGNORE_CASE: u64 = 2;
const MULTI_LINE: u64 = 8;
const DOT_ALL: u64 = 16;
const VERBOSE: u64 = 64;

/// A pattern of Python's `re`, with its flags.
pub(crate) fn regex(pattern: &str, flags: u64) -> Result<Pattern, PatternError> {
    let named = [(IGNORE_CASE, 'i'), (MULTI_LINE, 'm'), (DOT_ALL, 's'), (VERBOSE, 'x')];
    let set: String = named.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, c)| *c).collect();
    // Flags are a part of the text, by which expressions are compared. Python's end anchor is written \Z.
    let flags = if set.is_empty() { set } else { format!("(?{set})") };
    let text = format!("{flags}{}", pattern.replace(r"\Z", r"\z"));
    Pattern::new(&text)
}
