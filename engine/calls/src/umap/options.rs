//! The parameters of `umap`: which are taken, in which range.

use graphlume_algo::layout::umap::{Metric, Options, Start};
use graphlume_expr::{ErrorCode, QueryError, listed, nearest};
use serde_json::{Map, Value};

use crate::params::Params;

/// A number that the call takes, by itself or in `umap_kwargs`.
struct Number {
    name: &'static str,
    /// Where there is none, `NAN` if the algorithm decides.
    default: f64,
    low: f64,
    high: f64,
    is_whole: bool,
}

const fn number(name: &'static str, default: f64, low: f64, high: f64) -> Number {
    Number { name, default, low, high, is_whole: false }
}

const fn whole(name: &'static str, default: f64, low: f64, high: f64) -> Number {
    Number { is_whole: true, ..number(name, default, low, high) }
}

/// What is above 0.
const ABOVE_0: f64 = 1e-6;

const NUMBERS: &[Number] = &[
    whole("n_neighbors", 12.0, 2.0, 1000.0),
    whole("n_components", 2.0, 2.0, 100.0),
    number("min_dist", 0.1, 0.0, 1000.0),
    number("spread", 0.5, ABOVE_0, 1000.0),
    number("local_connectivity", 1.0, 0.0, 1000.0),
    number("repulsion_strength", 1.0, 0.0, 1000.0),
    whole("negative_sample_rate", 5.0, 0.0, 100.0),
    // From here on in `umap_kwargs` alone.
    whole("n_epochs", f64::NAN, 0.0, 10_000.0),
    number("learning_rate", 1.0, ABOVE_0, 1000.0),
    number("set_op_mix_ratio", 1.0, 0.0, 1.0),
    number("target_weight", 0.5, 0.0, 1.0),
    number("a", f64::NAN, ABOVE_0, 1000.0),
    number("b", f64::NAN, ABOVE_0, 1000.0),
    whole("random_state", 0.0, 0.0, 9e15),
];

/// Members of `umap_kwargs` that are no numbers.
const WORDS: &[&str] = &["metric", "init"];
/// Members that say how umap-learn works and nothing of its result.
const IGNORED: &[&str] = &[
    "low_memory",
    "verbose",
    "n_jobs",
    "tqdm_kwds",
    "transform_seed",
    "transform_queue_size",
    "angular_rp_forest",
    "force_approximation_algorithm",
];
/// Members that have one value here, or null.
const FIXED: &[(&str, Fixed)] = &[
    ("densmap", Fixed::Flag(false)),
    ("unique", Fixed::Flag(false)),
    ("output_dens", Fixed::Flag(false)),
    ("target_metric", Fixed::Word("categorical")),
    ("output_metric", Fixed::Word("euclidean")),
    ("transform_mode", Fixed::Word("embedding")),
];

enum Fixed {
    Flag(bool),
    Word(&'static str),
}

const STARTS: &[(&str, Start)] =
    &[("spectral", Start::Spectral), ("pca", Start::Pca), ("random", Start::Random)];

/// How the table is laid out.
pub(crate) fn read(params: &Params<'_>) -> Result<Options, QueryError> {
    let none = Map::new();
    let more = match params.get("umap_kwargs") {
        None => &none,
        Some(Value::Object(more)) => more,
        Some(other) => return Err(params.wrong("umap_kwargs", "an object", other)),
    };
    more.iter().try_for_each(|(name, value)| check_extra(name, value))?;
    for name in ["umap_fit_kwargs", "umap_transform_kwargs"] {
        check_fit(params, name)?;
    }
    let given = |name: &str| {
        let own = || Some((format!("params.{name}"), params.get(name)?));
        let extra = more.get(name).filter(|v| !v.is_null());
        extra.map(|v| (format!("params.umap_kwargs.{name}"), v)).or_else(own)
    };
    let value = |name: &str| -> Result<f64, QueryError> {
        let number = NUMBERS.iter().find(|n| n.name == name);
        let number = number.ok_or_else(|| params.missing(name))?;
        given(name).map_or(Ok(number.default), |(field, value)| in_range(number, &field, value))
    };
    let some = |v: f64| (!v.is_nan()).then_some(v);
    let (min_dist, spread) = (value("min_dist")?, value("spread")?);
    if min_dist > spread {
        let text = format!("\"min_dist\" of call \"umap\" must be at most \"spread\", {spread}");
        return Err(QueryError::new(ErrorCode::Type, text)
            .field("params.min_dist")
            .value(min_dist)
            .suggest("lower min_dist, or raise spread"));
    }
    let curve = match (some(value("a")?), some(value("b")?)) {
        (Some(a), Some(b)) => Some((a, b)),
        (None, None) => None,
        _ => {
            let text = "\"a\" and \"b\" of \"umap_kwargs\" make one curve";
            return Err(QueryError::new(ErrorCode::MissingField, text)
                .field("params.umap_kwargs")
                .suggest("give both, or min_dist and spread alone"));
        }
    };
    Ok(Options {
        neighbors: value("n_neighbors")? as usize,
        dims: value("n_components")? as usize,
        min_dist,
        spread,
        local_connectivity: value("local_connectivity")?,
        repulsion: value("repulsion_strength")?,
        negative_samples: value("negative_sample_rate")? as usize,
        metric: word(
            given("metric"),
            "euclidean",
            Metric::find,
            &Metric::names().collect::<Vec<_>>(),
        )?,
        epochs: some(value("n_epochs")?).map(|n| n as u64),
        learning_rate: value("learning_rate")?,
        start: word(
            given("init"),
            "spectral",
            |name| STARTS.iter().find(|s| s.0 == name).map(|s| s.1),
            &STARTS.iter().map(|s| s.0).collect::<Vec<_>>(),
        )?,
        mix: value("set_op_mix_ratio")?,
        curve,
        target_weight: value("target_weight")?,
        seed: value("random_state")? as u64,
    })
}

/// A number in its range.
fn in_range(number: &Number, field: &str, value: &Value) -> Result<f64, QueryError> {
    let fits =
        |v: &f64| (number.low..=number.high).contains(v) && (!number.is_whole || v.fract() == 0.0);
    value.as_f64().filter(fits).ok_or_else(|| {
        let Number { name, low, high, is_whole, .. } = number;
        let kind = if *is_whole { "a whole number" } else { "a number" };
        let text = format!("{name:?} of call \"umap\" must be {kind} from {low} to {high}");
        QueryError::new(ErrorCode::Type, text)
            .field(field)
            .value(value)
            .suggest(format!("give {kind} from {low} to {high}, or leave it out"))
    })
}

/// One of some words.
fn word<T>(
    given: Option<(String, &Value)>,
    default: &str,
    find: impl Fn(&str) -> Option<T>,
    names: &[&str],
) -> Result<T, QueryError> {
    let name = match &given {
        None => Some(default),
        Some((_, value)) => value.as_str(),
    };
    name.and_then(find).ok_or_else(|| {
        let (field, value) = given.map_or((String::new(), Value::Null), |(f, v)| (f, v.clone()));
        let name = field.rsplit('.').next().unwrap_or_default();
        let text = format!("{name:?} of call \"umap\" must be one of {}", names.join(", "));
        let error = QueryError::new(ErrorCode::Type, text).field(&field).value(&value);
        match nearest(value.as_str().unwrap_or_default(), names) {
            Some(near) => error.suggest(format!("did you mean {near:?}?")),
            None => error.suggest(format!("use {default:?}")),
        }
    })
}

/// Refuses a member of `umap_kwargs` that is not here.
fn check_extra(name: &str, value: &Value) -> Result<(), QueryError> {
    let field = format!("params.umap_kwargs.{name}");
    let taken = NUMBERS.iter().map(|n| n.name).chain(WORDS.iter().copied());
    if taken.clone().chain(IGNORED.iter().copied()).any(|n| n == name) {
        return Ok(());
    }
    if let Some((_, only)) = FIXED.iter().find(|(n, _)| *n == name) {
        let only = match only {
            Fixed::Flag(flag) => Value::from(*flag),
            Fixed::Word(word) => Value::from(*word),
        };
        if value.is_null() || *value == only {
            return Ok(());
        }
        let text = format!("{name:?} of \"umap_kwargs\" can only be {only} here");
        return Err(QueryError::new(ErrorCode::Unsupported, text)
            .field(field)
            .value(value)
            .suggest("leave it out"));
    }
    let names: Vec<&str> = taken.collect();
    let text = format!("\"umap_kwargs\" of call \"umap\" has no {name:?} here");
    let error = QueryError::new(ErrorCode::Unsupported, text).field(field).value(value);
    Err(match nearest(name, &names) {
        Some(near) => error.suggest(format!("did you mean {near:?}?")),
        None => error.suggest(format!("its members: {}", listed(&names))),
    })
}

/// What umap-learn's `fit` and `transform` take: whether numbers must be finite, which they must.
fn check_fit(params: &Params<'_>, name: &str) -> Result<(), QueryError> {
    match params.get(name) {
        None => Ok(()),
        Some(Value::Object(more)) => {
            let finite = ["ensure_all_finite", "force_all_finite"];
            let other = more.iter().find(|(key, value)| {
                !finite.contains(&key.as_str()) || **value != Value::Bool(true)
            });
            let Some((key, value)) = other else { return Ok(()) };
            let text = format!("{key:?} of {name:?} of call \"umap\" is not available");
            Err(QueryError::new(ErrorCode::Unsupported, text)
                .field(format!("params.{name}.{key}"))
                .value(value)
                .suggest("leave it out; what the method takes stands in umap_kwargs"))
        }
        Some(other) => Err(params.wrong(name, "an object", other)),
    }
}
