//! Nodes on rings of time.

use graphlume_expr::cell::Cell;
use graphlume_expr::{ErrorCode, QueryError, Scalar};
use graphlume_store::PropertyGraph;
use graphlume_table::Table;
use graphlume_types::calendar::{civil, days_in_month, days_of};
use serde_json::Value;

use super::cells;
use super::rings::{Ring, on_rings, play_ms, radii};
use crate::context::CallContext;
use crate::params::Params;

const SECOND: i128 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND;
/// Rings where nothing says how many, and of tables of more than so many rows.
const RINGS: usize = 5;
const RINGS_OF_MANY: usize = 10;
const MANY: usize = 1_000;
/// Rings at most.
const RINGS_MAX: i128 = 10_000;

/// A step between two rings that reads well.
struct Unit {
    /// Its letter in the client.
    letter: &'static str,
    /// How long it is when times are rounded.
    nanos: i128,
    /// How long it is when rings are counted.
    counted: i128,
    /// Months of the calendar, for units that are not equally long.
    months: i64,
}

const UNITS: [Unit; 8] = [
    Unit { letter: "s", nanos: SECOND, counted: SECOND, months: 0 },
    Unit { letter: "m", nanos: 60 * SECOND, counted: 60 * SECOND, months: 0 },
    Unit { letter: "h", nanos: 3_600 * SECOND, counted: 3_600 * SECOND, months: 0 },
    Unit { letter: "D", nanos: DAY, counted: DAY, months: 0 },
    Unit { letter: "W", nanos: 7 * DAY, counted: 7 * DAY, months: 0 },
    Unit { letter: "M", nanos: 31 * DAY, counted: 30 * DAY, months: 1 },
    Unit { letter: "Y", nanos: 365 * DAY, counted: 365 * DAY, months: 12 },
    Unit { letter: "C", nanos: 36_500 * DAY, counted: 36_500 * DAY, months: 1_200 },
];

/// Rings of a column of times, the earliest in the middle, at rounded times.
pub(crate) fn time_ring(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    params.no_functions(&["format_axis", "format_label", "format_labels"])?;
    let table = graph.node_table(context.cancel)?;
    let name = params.text("time_col")?.ok_or_else(|| params.missing("time_col"))?;
    let times = times(&table, name)?;
    context.cancel.check()?;
    let known = times.iter().flatten();
    let (first, last) = (known.clone().min(), known.max());
    let start = moment(params, "time_start")?.or(first.copied()).unwrap_or(0);
    let end = moment(params, "time_end")?.or(last.copied()).unwrap_or(start);
    let count = rings(params, start, end, times.len())?;
    let unit = unit((end - start) / count);
    let start = rounded(start, unit.nanos);
    let end = rounded(start + unit.nanos * count, unit.nanos);
    let (inner, outer) = radii(params)?;
    let scale = (outer - inner) / (end - start) as f64;
    let reverse = params.flag("reverse", false)?;
    let radius = |since: i128| {
        let r = since as f64 * scale + inner;
        if reverse { inner + outer - r } else { r }
    };
    let at: Vec<f64> = times.iter().map(|t| t.map_or(f64::NAN, |t| radius(t - start))).collect();
    let ring = |step: i128| Ring {
        label: written(start + unit.nanos * step, unit),
        r: radius(later(start, unit, step) - start),
    };
    on_rings(graph, &table, &at, (0..=count).map(ring).collect(), play_ms(params, 2_000)?)
}

/// Nanoseconds since 1970.
fn times(table: &Table, name: &str) -> Result<Vec<Option<i128>>, QueryError> {
    let nanos = |cell: &Cell| match cell {
        Cell::Scalar(Scalar::Temporal(time)) => {
            time.instant().map(|(s, ns)| Some(i128::from(s) * SECOND + i128::from(ns)))
        }
        cell if cell.is_null() => Some(None),
        _ => None,
    };
    let found: Option<Vec<Option<i128>>> = cells(table, name)?.iter().map(nanos).collect();
    found.ok_or_else(|| {
        let text = format!("the column {name:?} of the nodes has no dates or times");
        QueryError::new(ErrorCode::ColumnType, text)
            .field("params.time_col")
            .value(name)
            .suggest("name a column of dates or times")
    })
}

/// A time that a parameter gives, as a date, or a date and a time.
fn moment(params: &Params<'_>, name: &str) -> Result<Option<i128>, QueryError> {
    let Some(text) = params.text(name)? else { return Ok(None) };
    let (seconds, nanos) = graphlume_types::iso_time::instant(text, 0).ok_or_else(|| {
        let want = "a date or a date and a time, like 2024-05-31T12:00:00";
        params.wrong(name, want, &Value::from(text))
    })?;
    Ok(Some(i128::from(seconds) * SECOND + i128::from(nanos)))
}

/// How many rings there are beyond the first.
fn rings(params: &Params<'_>, start: i128, end: i128, rows: usize) -> Result<i128, QueryError> {
    let letter = params.text("time_unit")?;
    let unit = letter.map(|letter| {
        UNITS.iter().find(|unit| unit.letter == letter).ok_or_else(|| {
            params.wrong("time_unit", "one of s, m, h, D, W, M, Y, C", &Value::from(letter))
        })
    });
    let (field, count) = match (params.get("num_rings"), unit.transpose()?) {
        (Some(_), _) => ("num_rings", params.count("num_rings")? as i128),
        (None, Some(unit)) => ("time_unit", (end - start).div_euclid(unit.counted) + 1),
        (None, None) if rows > MANY => ("num_rings", RINGS_OF_MANY as i128),
        (None, None) => ("num_rings", RINGS as i128),
    };
    if !(1..=RINGS_MAX).contains(&count) {
        let text = format!("the rings of call {:?} are {count}", params.function);
        return Err(QueryError::new(ErrorCode::Type, text)
            .field(format!("params.{field}"))
            .value(count)
            .suggest(format!("ask for 1 to {RINGS_MAX} rings, or for a larger unit")));
    }
    Ok(count)
}

/// The first unit that is at least as long as a step.
fn unit(step: i128) -> &'static Unit {
    let [.., last] = &UNITS;
    UNITS.iter().find(|unit| step.div_euclid(SECOND) * SECOND <= unit.nanos).unwrap_or(last)
}

fn rounded(time: i128, unit: i128) -> i128 {
    (time + unit / 2).div_euclid(unit) * unit
}

/// So many units later, by the calendar: the same day of a later month, or the last one that it has.
fn later(start: i128, unit: &Unit, step: i128) -> i128 {
    if unit.months == 0 {
        return start + unit.nanos * step;
    }
    let (day, clock) = (start.div_euclid(DAY), start.rem_euclid(DAY));
    let (year, month, of_month) = civil(day as i64);
    let months = year * 12 + month - 1 + unit.months * step as i64;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    let of_month = of_month.min(days_in_month(year, month));
    i128::from(days_of((year, month, of_month))) * DAY + clock
}

/// A time to the unit.
fn written(time: i128, unit: &Unit) -> String {
    // Weeks begin on the day of the week that 1970 began on.
    let time = if unit.letter == "W" { time.div_euclid(7 * DAY) * 7 * DAY } else { time };
    let (year, month, day) = civil(time.div_euclid(DAY) as i64);
    let seconds = time.rem_euclid(DAY) / SECOND;
    let (h, m, s) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let date = format!("{year:04}-{month:02}-{day:02}");
    match unit.letter {
        "s" => format!("{date}T{h:02}:{m:02}:{s:02}"),
        "m" => format!("{date}T{h:02}:{m:02}"),
        "h" => format!("{date}T{h:02}"),
        "D" | "W" => date,
        "M" => format!("{year:04}-{month:02}"),
        _ => format!("{year:04}"),
    }
}
