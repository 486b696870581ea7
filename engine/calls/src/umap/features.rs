//! The numbers of a table: its columns of numbers, and its categories, one number each, scaled as the client scales them.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use graphlume_algo::layout::umap::{Features, check_size};
use graphlume_expr::cell::Reader;
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_table::Table;
use graphlume_types::Notice;

use crate::algorithm::failed;
use crate::context::CallContext;
use crate::params::Params;

/// Texts with fewer values than this are categories, as the client has it.
const CATEGORIES_MAX: usize = 40;
/// Scaled numbers are rounded to this part, as the client rounds them.
const ROUND: f64 = 1e5;
/// Rows between two looks at the token.
const STEPS: usize = 1 << 14;

/// What becomes of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    /// Numbers as they are.
    None,
    /// Numbers, scaled.
    Pandas,
    /// Numbers, truth values, times and categories, scaled.
    Skrub,
}

impl Engine {
    pub(crate) fn read(params: &Params<'_>) -> Result<Self, QueryError> {
        let name = params.text("feature_engine")?.unwrap_or("auto");
        match name {
            "none" => Ok(Self::None),
            "pandas" => Ok(Self::Pandas),
            "auto" | "skrub" | "dirty_cat" => Ok(Self::Skrub),
            "torch" => {
                let text =
                    "\"feature_engine\" \"torch\" of call \"umap\" needs a model of language";
                Err(QueryError::new(ErrorCode::Unsupported, text)
                    .field("params.feature_engine")
                    .value(name)
                    .suggest(
                        "use \"auto\", or upload the embedding of texts as columns of numbers",
                    ))
            }
            _ => {
                let text =
                    "\"feature_engine\" of call \"umap\" must be auto, skrub, pandas or none";
                Err(QueryError::new(ErrorCode::Type, text)
                    .field("params.feature_engine")
                    .value(name)
                    .suggest("use \"auto\""))
            }
        }
    }
}

/// One feature.
enum Feature {
    /// A number by row, NaN where there is none.
    Numbers(Vec<f64>),
    /// 1 in these rows, else 0.
    Rows(Vec<u32>),
}

/// Which columns are read, and how.
pub(super) struct Reading<'a, 'p> {
    pub(super) engine: Engine,
    pub(super) params: &'a Params<'p>,
    /// `node` or `edge`, for messages.
    pub(super) kind: &'static str,
    /// Neighbours, for the limit.
    pub(super) neighbors: usize,
    pub(super) context: CallContext<'a>,
}

impl Reading<'_, '_> {
    /// The features of the columns with these names, and of the nodes that `ends` names in each row.
    pub(crate) fn features(
        &self,
        table: &Table,
        names: &[String],
        ends: &[&str],
    ) -> Result<Features, QueryError> {
        let rows = table.num_rows();
        let size =
            |columns| check_size(rows, columns, self.neighbors).map_err(|e| failed(e, self.params));
        size(1)?;
        let mut features: Vec<(String, Feature)> = Vec::new();
        if !ends.is_empty() {
            let nodes = self.nodes(table, ends)?;
            features.extend(nodes.into_iter().map(|rows| (String::new(), Feature::Rows(rows))));
        }
        for name in names {
            let Some(column) = table.column(name) else {
                return Err(QueryError::no_column(name, self.kind, &table.column_names()));
            };
            self.context.cancel.check()?;
            self.add(name, column, &mut features)?;
            size(features.len())?;
        }
        if features.is_empty() {
            return Err(self.empty(names));
        }
        let columns = features.len();
        self.context.cancel.take(4 * (rows * columns) as u64)?;
        let mut values = vec![0.0_f32; rows * columns];
        for (at, (name, feature)) in features.into_iter().enumerate() {
            self.context.cancel.check()?;
            self.write(&name, feature, at, columns, &mut values)?;
        }
        Ok(Features { rows, columns, values })
    }

    fn empty(&self, names: &[String]) -> QueryError {
        let text = format!("call \"umap\" finds no column of the {}s to read", self.kind);
        let instead = match self.engine {
            Engine::Skrub => "add columns of numbers, or texts of fewer than 40 values",
            _ => {
                "add columns of numbers, or use feature_engine \"auto\", which reads categories, too"
            }
        };
        QueryError::new(ErrorCode::CallFailed, text)
            .field("params.X")
            .value(names.join(", "))
            .suggest(instead)
    }

    /// The features of one column.
    fn add(
        &self,
        name: &str,
        column: &ArrayRef,
        features: &mut Vec<(String, Feature)>,
    ) -> Result<(), QueryError> {
        let of_categories = match column.data_type() {
            DataType::Dictionary(_, values) => !values.is_numeric(),
            _ => false,
        };
        let is_number = column.data_type().is_numeric()
            || matches!(column.data_type(), DataType::Dictionary(..)) && !of_categories;
        let is_read = is_number
            || self.engine == Engine::Skrub
                && (column.data_type() == &DataType::Boolean || column.data_type().is_temporal());
        if is_read && let Some(numbers) = graphlume_table::to_f64(column.as_ref()) {
            if numbers.iter().all(|x| x.is_nan()) {
                self.left_out(name, "has no value");
            } else {
                features.push((name.to_owned(), Feature::Numbers(numbers)));
            }
            return Ok(());
        }
        if self.engine != Engine::Skrub {
            return Ok(());
        }
        match self.categories(column)? {
            None => self.left_out(name, "is no number, and has 40 values or more, or lists"),
            Some(mut of_value) => {
                // Of two values one says all.
                if of_value.len() == 2 {
                    of_value.remove(0);
                }
                let many = of_value.into_iter().map(|rows| (name.to_owned(), Feature::Rows(rows)));
                features.extend(many);
            }
        }
        Ok(())
    }

    fn left_out(&self, name: &str, why: &str) {
        let text = format!(
            "umap leaves the column {name:?} of the {}s out, which {why}; name the columns that are meant by X",
            self.kind
        );
        self.context.notices.note(Notice::new("column-left-out", text));
    }

    /// The rows of each value, in the order of the values, null among them; `None` where there are too many.
    fn categories(&self, column: &ArrayRef) -> Result<Option<Vec<Vec<u32>>>, QueryError> {
        let is_nested = column.data_type().is_nested()
            && !matches!(column.data_type(), DataType::Dictionary(..));
        let Some(reader) = Reader::new(column).filter(|_| !is_nested) else { return Ok(None) };
        let mut found: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for row in 0..column.len() {
            if row % STEPS == 0 {
                self.context.cancel.check()?;
            }
            found.entry(reader.get(row).key()).or_default().push(row as u32);
            if found.len() >= CATEGORIES_MAX {
                return Ok(None);
            }
        }
        Ok(Some(found.into_values().collect()))
    }

    /// The rows that each node is an end of.
    fn nodes(&self, table: &Table, ends: &[&str]) -> Result<Vec<Vec<u32>>, QueryError> {
        let mut found: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for name in ends {
            let column = table.column(name).and_then(Reader::new);
            let Some(column) = column else {
                return Err(QueryError::no_column(name, self.kind, &table.column_names()));
            };
            for row in 0..table.num_rows() {
                if row % STEPS == 0 {
                    self.context.cancel.check()?;
                    // Each node is a feature: the table may be too large before all are known.
                    let size = check_size(table.num_rows(), found.len(), self.neighbors);
                    size.map_err(|e| failed(e, self.params))?;
                }
                found.entry(column.get(row).key()).or_default().push(row as u32);
            }
        }
        let size = check_size(table.num_rows(), found.len(), self.neighbors);
        size.map_err(|e| failed(e, self.params))?;
        let mut rows: Vec<Vec<u32>> = found.into_values().collect();
        for of_node in &mut rows {
            of_node.sort_unstable();
            of_node.dedup();
        }
        Ok(rows)
    }

    /// Writes a feature into the rows' numbers.
    fn write(
        &self,
        name: &str,
        feature: Feature,
        index: usize,
        columns: usize,
        values: &mut [f32],
    ) -> Result<(), QueryError> {
        let rows = values.len() / columns.max(1);
        let scaled = |x: f64, center: f64, spread: f64| {
            if self.engine == Engine::None {
                return x as f32;
            }
            (((x - center) / spread * ROUND).round_ties_even() / ROUND) as f32
        };
        match feature {
            Feature::Rows(ones) => {
                let sorted = |k: usize| if k >= rows - ones.len() { 1.0 } else { 0.0 };
                let (center, spread) = middle(rows, sorted);
                let zero = scaled(0.0, center, spread);
                if zero != 0.0 {
                    values.iter_mut().skip(index).step_by(columns).for_each(|x| *x = zero);
                }
                ones.iter().for_each(|i| {
                    values[*i as usize * columns + index] = scaled(1.0, center, spread)
                });
            }
            Feature::Numbers(mut numbers) => {
                if let Some(row) =
                    numbers.iter().position(|x| x.is_infinite() || x.abs() > f64::from(f32::MAX))
                {
                    return Err(self.unread(
                        name,
                        row,
                        numbers[row],
                        "drop such rows, or cut their values",
                    ));
                }
                let mut known: Vec<f64> = numbers.iter().copied().filter(|x| !x.is_nan()).collect();
                if known.len() < rows {
                    if self.engine == Engine::None {
                        let row = numbers.iter().position(|x| x.is_nan()).unwrap_or(0);
                        let instead =
                            "use feature_engine \"pandas\", which puts the median in their place";
                        return Err(self.unread(name, row, f64::NAN, instead));
                    }
                    let median = quantile(&mut known, 0.5);
                    numbers.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = median);
                    known.clone_from(&numbers);
                }
                let (center, spread) = if self.engine == Engine::None {
                    (0.0, 1.0)
                } else {
                    let center = quantile(&mut known, 0.5);
                    (center, usable(quantile(&mut known, 0.75) - quantile(&mut known, 0.25)))
                };
                for (row, x) in numbers.into_iter().enumerate() {
                    values[row * columns + index] = scaled(x, center, spread);
                }
            }
        }
        Ok(())
    }

    fn unread(&self, name: &str, row: usize, value: f64, instead: &str) -> QueryError {
        let value = if value.is_nan() { "null".to_owned() } else { value.to_string() };
        let text = format!(
            "call \"umap\" cannot read row {row} of the column {name:?} of the {}s",
            self.kind
        );
        QueryError::new(ErrorCode::ColumnType, text).field("params.X").value(value).suggest(instead)
    }
}

/// A spread by which numbers can be divided.
fn usable(spread: f64) -> f64 {
    if spread.abs() < 10.0 * f64::EPSILON { 1.0 } else { spread }
}

/// The median and the spread between the quartiles of `n` numbers that are sorted.
fn middle(n: usize, sorted: impl Fn(usize) -> f64) -> (f64, f64) {
    let at = |part: f64| {
        let place = part * n.saturating_sub(1) as f64;
        let (low, rest) = (place.floor() as usize, place.fract());
        let high = (low + 1).min(n.saturating_sub(1));
        sorted(low) + rest * (sorted(high) - sorted(low))
    };
    (at(0.5), usable(at(0.75) - at(0.25)))
}

/// A quantile, between two numbers by their distance.
fn quantile(values: &mut [f64], part: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let place = part * (values.len() - 1) as f64;
    let (_, low, above) = values.select_nth_unstable_by(place.floor() as usize, f64::total_cmp);
    let low = *low;
    let next = above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
    low + place.fract() * (next - low)
}

/// The category of each row of a column; `None` for null.
pub(crate) fn labels(
    column: &ArrayRef,
    context: CallContext<'_>,
) -> Result<Option<Vec<Option<u32>>>, QueryError> {
    let Some(reader) = Reader::new(column) else { return Ok(None) };
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    let mut labels = Vec::with_capacity(column.len());
    for row in 0..column.len() {
        if row % STEPS == 0 {
            context.cancel.check()?;
        }
        let cell = reader.get(row);
        let next = numbers.len() as u32;
        labels.push((!cell.is_null()).then(|| *numbers.entry(cell.key()).or_insert(next)));
    }
    Ok(Some(labels))
}

/// A column of coordinates.
pub(crate) fn floats(values: impl Iterator<Item = f32>) -> ArrayRef {
    Arc::new(values.collect::<arrow_array::Float32Array>())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use arrow_array::{BooleanArray, Float64Array, RecordBatch, StringArray};
    use graphlume_store::PropertyGraph;
    use graphlume_types::CancelToken;
    use serde_json::{Map, Value};

    use super::*;
    use crate::context::Notices;

    fn table() -> Table {
        let numbers = [Some(1.0), Some(2.0), Some(4.0), None, Some(10.0), Some(7.5)];
        let kinds = [Some("b"), Some("a"), Some("a"), None, Some("c"), Some("a")];
        let batch = RecordBatch::try_from_iter([
            ("n", Arc::new(Float64Array::from(numbers.to_vec())) as ArrayRef),
            ("ok", Arc::new(BooleanArray::from(vec![true, true, true, true, false, true]))),
            ("kind", Arc::new(StringArray::from(kinds.to_vec()))),
            ("s", Arc::new(StringArray::from(vec!["p", "p", "p", "p", "q", "q"]))),
            ("d", Arc::new(StringArray::from(vec!["q", "q", "r", "p", "r", "q"]))),
        ]);
        Table::try_new(batch.unwrap()).unwrap()
    }

    /// The features, a list for each column, and the columns that a notice says are left out.
    fn read(
        table: &Table,
        engine: Engine,
        names: &[&str],
        ends: &[&str],
    ) -> Result<Vec<Vec<f32>>, QueryError> {
        let (map, notices, cancel) =
            (Map::<String, Value>::new(), Notices::default(), CancelToken::new());
        let params = Params { function: "umap", map: &map };
        let filter = |_: &PropertyGraph, _: &Map<String, Value>, _: &str| Ok(vec![]);
        let context = CallContext::new(&notices, &cancel, &filter);
        let reading = Reading { engine, params: &params, kind: "node", neighbors: 12, context };
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        let made = reading.features(table, &names, ends)?;
        assert_eq!(made.values.len(), made.rows * made.columns);
        let column = |c: usize| made.values.iter().skip(c).step_by(made.columns).copied().collect();
        Ok((0..made.columns).map(column).collect())
    }

    #[test]
    fn numbers_are_scaled_as_the_client_scales_them() {
        // What scikit-learn's SimpleImputer("median") and RobustScaler give, rounded to five digits.
        let n = [-0.72727, -0.48485, 0.0, 0.0, 1.45455, 0.84848];
        let found = read(&table(), Engine::Pandas, &["n", "ok", "kind"], &[]).unwrap();
        assert_eq!(found.len(), 1, "truth values and texts are no numbers");
        found[0].iter().zip(n).for_each(|(x, want)| assert!((x - want).abs() < 2e-5, "{found:?}"));
        let found = read(&table(), Engine::Skrub, &["n", "ok", "kind"], &[]).unwrap();
        // A truth value, and four values, null among them, of which the order is that of their texts.
        assert_eq!(found[1], [0.0, 0.0, 0.0, 0.0, -1.0, 0.0]);
        assert_eq!(found.len(), 6);
        let ones = |column: &Vec<f32>| column.iter().filter(|x| **x > 0.0).count();
        let mut ones: Vec<usize> = found[2..].iter().map(ones).collect();
        ones.sort_unstable();
        assert_eq!(ones, [1, 1, 1, 3]);
    }

    #[test]
    fn raw_numbers_stay_and_what_cannot_be_read_is_named() {
        let e = read(&table(), Engine::None, &["n"], &[]).unwrap_err().to_string();
        assert!(e.contains("row 3 of the column \"n\"") && e.contains("median"), "{e}");
        let whole = Float64Array::from(vec![1.5, 1e300, 2.0]);
        let batch = RecordBatch::try_from_iter([("big", Arc::new(whole) as ArrayRef)]);
        let big = Table::try_new(batch.unwrap()).unwrap();
        let e = read(&big, Engine::Pandas, &["big"], &[]).unwrap_err().to_string();
        assert!(e.contains("row 1 of the column \"big\""), "{e}");
        let e = read(&table(), Engine::None, &["kind"], &[]).unwrap_err().to_string();
        assert!(e.contains("feature_engine \"auto\""), "{e}");
        let e = read(&table(), Engine::None, &["knd"], &[]).unwrap_err().to_string();
        assert!(e.starts_with("[column-not-found]") && e.contains("kind"), "{e}");
        let some = table();
        let some = Table::try_new(some.batch().slice(0, 3)).unwrap();
        assert_eq!(read(&some, Engine::None, &["n"], &[]).unwrap(), [[1.0, 2.0, 4.0]]);
    }

    #[test]
    fn edges_have_a_feature_for_each_node_at_their_ends() {
        let found = read(&table(), Engine::None, &[], &["s", "d"]).unwrap();
        assert_eq!(
            found,
            [
                [1.0, 1.0, 1.0, 1.0, 0.0, 0.0],
                [1.0, 1.0, 0.0, 0.0, 1.0, 1.0],
                [0.0, 0.0, 1.0, 0.0, 1.0, 0.0]
            ]
        );
        let scaled = read(&table(), Engine::Pandas, &[], &["s", "d"]).unwrap();
        // Its median is 1, and its quartiles are 0.25 and 1.
        assert_eq!(scaled[1], [0.0, 0.0, -1.33333, -1.33333, 0.0, 0.0]);
    }
}
