//! Parameters of igraph's force and stress layouts: positions to start from, and bounds.

use serde_json::Value;

use crate::input::id_text;
use crate::spec::param;
use crate::{AlgoError, Dtype, Input, ParamSpec, ParamValues};

/// The parameter `seed` of igraph's layouts, which is no seed of random numbers.
pub(crate) const START: ParamSpec = param(
    "seed",
    Dtype::Positions,
    "null",
    None,
    "positions to start from, a list of coordinates for each node; null is a start of our own",
);

/// The least coordinates, then the greatest, of an axis.
const NAMES: [[&str; 2]; 3] = [["minx", "maxx"], ["miny", "maxy"], ["minz", "maxz"]];
/// What the doc of every bound begins with.
const BOUND: &str = "bound of the coordinate: a number for each node, or the name of a node column";

/// The parameters that bound the coordinates of a node.
pub(crate) const MINX: ParamSpec = bound("minx");
pub(crate) const MAXX: ParamSpec = bound("maxx");
pub(crate) const MINY: ParamSpec = bound("miny");
pub(crate) const MAXY: ParamSpec = bound("maxy");
pub(crate) const MINZ: ParamSpec = bound("minz");
pub(crate) const MAXZ: ParamSpec = bound("maxz");

const fn bound(name: &'static str) -> ParamSpec {
    param(name, Dtype::NodeValues, "null", None, BOUND)
}

/// The least and the greatest coordinates of a node.
pub(crate) type Bounds<const D: usize> = [[f64; D]; 2];

/// The positions that the parameter `seed` gives, by node.
///
/// # Errors
/// [`AlgoError::BadParam`] unless it is a list of `D` finite numbers for each node.
pub(crate) fn start<const D: usize>(
    input: &Input<'_>,
    p: &ParamValues,
) -> Result<Option<Vec<[f64; D]>>, AlgoError> {
    let Some(rows) = p.rows(START.name) else { return Ok(None) };
    let n = input.num_nodes() as usize;
    let expected = || format!("{D} finite numbers for each of the {n} nodes");
    if rows.len() != n {
        return Err(p.bad(START.name, format!("a list of {} entries", rows.len()), expected()));
    }
    let row = |(v, row): (usize, &serde_json::Value)| -> Result<[f64; D], AlgoError> {
        let numbers = row.as_array().filter(|row| row.len() == D);
        let wrong = || p.bad(START.name, format!("{row} for node {v}"), expected());
        let mut at = [0.0; D];
        for (c, number) in numbers.ok_or_else(wrong)?.iter().enumerate() {
            at[c] = number.as_f64().filter(|x| x.abs() <= 1e12).ok_or_else(wrong)?;
        }
        Ok(at)
    };
    rows.iter().enumerate().map(row).collect::<Result<_, _>>().map(Some)
}

/// The coordinates that a [`Dtype::PositionTable`] parameter gives, by node; a node that it leaves out has none.
///
/// # Errors
/// [`AlgoError::BadParam`] for what is no such table, an id that no node has, a node named twice, and a coordinate that
/// is no number or beyond 1e12.
pub(crate) fn positions(
    input: &Input<'_>,
    p: &ParamValues,
    name: &str,
) -> Result<Option<Vec<Option<[f64; 2]>>>, AlgoError> {
    let Some(rows) = position_rows(p, name)? else { return Ok(None) };
    let mut places = vec![None; input.num_nodes() as usize];
    for [id, x, y] in rows {
        let coordinate = |value: &Value| {
            let wrong = || p.bad(name, format!("{value} for {id}"), "a finite number".to_owned());
            value.as_f64().filter(|x| x.abs() <= 1e12).ok_or_else(wrong)
        };
        let at = [coordinate(x)?, coordinate(y)?];
        let v = input.resolved(p, name, &id_text(id))?;
        if places[v as usize].replace(at).is_some() {
            return Err(p.bad(name, format!("{id} twice"), "each node at most once".to_owned()));
        }
    }
    Ok(Some(places))
}

/// Id, x and y of each row of a table of positions, which is an object of three lists or a list of objects.
fn position_rows<'a>(
    p: &'a ParamValues,
    name: &str,
) -> Result<Option<Vec<[&'a Value; 3]>>, AlgoError> {
    const COLUMNS: [&str; 3] = ["vertex", "x", "y"];
    let wrong = |value: &Value| {
        let shown: String = value.to_string().chars().take(80).collect();
        let legal = r#"a table like {"vertex": ["a"], "x": [1], "y": [2]}, or a list of its rows"#;
        p.bad(name, shown, legal.to_owned())
    };
    if let Some(table) = p.settings(name) {
        let column = |name: &str| table.get(name).and_then(Value::as_array);
        let [Some(ids), Some(xs), Some(ys)] = COLUMNS.map(column) else {
            return Err(wrong(&Value::Object(table.clone())));
        };
        if ids.len() != xs.len() || ids.len() != ys.len() {
            let given = format!("{} ids, {} x and {} y", ids.len(), xs.len(), ys.len());
            return Err(p.bad(name, given, "three lists of one length".to_owned()));
        }
        return Ok(Some(ids.iter().zip(xs).zip(ys).map(|((id, x), y)| [id, x, y]).collect()));
    }
    let Some(rows) = p.rows(name) else { return Ok(None) };
    let row = |row: &'a Value| match COLUMNS.map(|column| row.get(column)) {
        [Some(id), Some(x), Some(y)] => Ok([id, x, y]),
        _ => Err(wrong(row)),
    };
    rows.iter().map(row).collect::<Result<_, _>>().map(Some)
}

/// The bounds of every node; `None` when no parameter gives any.
///
/// # Errors
/// [`AlgoError::BadParam`] for values that are no numbers by node, and for a least one above the greatest.
pub(crate) fn bounds<const D: usize>(
    input: &Input<'_>,
    p: &ParamValues,
) -> Result<Option<Vec<Bounds<D>>>, AlgoError> {
    let n = input.num_nodes() as usize;
    let mut all = vec![[[f64::NEG_INFINITY; D], [f64::INFINITY; D]]; n];
    let mut given = false;
    for (c, names) in NAMES.iter().enumerate() {
        for (side, name) in names.iter().enumerate() {
            if c >= D && p.is_given(name) {
                let text = "null, for the layout has two dimensions".to_owned();
                return Err(p.bad(name, "given".to_owned(), text));
            }
            if c >= D || !p.is_given(name) {
                continue;
            }
            given = true;
            for (bounds, value) in all.iter_mut().zip(input.node_values(p, name)?.iter().flatten())
            {
                bounds[side][c] = value.unwrap_or(bounds[side][c]);
            }
        }
        if let Some(v) = (0..n).find(|v| c < D && all[*v][0][c] > all[*v][1][c]) {
            let (low, high) = (all[v][0][c], all[v][1][c]);
            let text = format!("at least {} of the node, which is {low}", names[0]);
            return Err(p.bad(names[1], format!("{high} for node {v}"), text));
        }
    }
    Ok(given.then_some(all))
}

/// Moves a node into its bounds.
pub(crate) fn clamp<const D: usize>(point: &mut [f64; D], bounds: &Bounds<D>) {
    for c in 0..D {
        point[c] = point[c].max(bounds[0][c]).min(bounds[1][c]);
    }
}
