//! Columns that no answer could give back are refused at the door.

use arrow_schema::DataType;

use crate::{Format, IngestError, Parsed};

/// Refuses columns of types that one of the formats of answers cannot write.
///
/// # Errors
/// The first such column by its name, with what to send instead.
pub(crate) fn check(format: Format, parsed: &Parsed) -> Result<(), IngestError> {
    for (_, table) in &parsed.tables {
        for field in table.batch().schema().fields() {
            let Some((kind, instead)) = odd(field.data_type()) else { continue };
            let name = field.name();
            let message = format!(
                "column {name:?} holds {kind}, which no format of answers can give back: send {instead}"
            );
            let column = Some(name.clone());
            return Err(IngestError::Malformed { format, message, row: None, column });
        }
    }
    Ok(())
}

/// What of a type cannot be written, and what can in its place.
fn odd(data_type: &DataType) -> Option<(&'static str, &'static str)> {
    use DataType as D;
    match data_type {
        D::Union(..) => Some(("a union", "a column for each of its types, or texts")),
        D::Interval(_) => {
            Some(("intervals of a calendar", "durations, or whole numbers of months and days"))
        }
        D::List(f)
        | D::LargeList(f)
        | D::ListView(f)
        | D::LargeListView(f)
        | D::FixedSizeList(f, _)
        | D::Map(f, _)
        | D::RunEndEncoded(_, f) => odd(f.data_type()),
        D::Struct(fields) => fields.iter().find_map(|f| odd(f.data_type())),
        D::Dictionary(_, values) => odd(values),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use arrow_array::{ArrayRef, RecordBatch, new_null_array};
    use arrow_schema::{Field, IntervalUnit, UnionFields, UnionMode};
    use graphlume_table::Table;
    use graphlume_types::Coded;

    use super::*;

    fn of(data_type: DataType) -> Parsed {
        let array: ArrayRef = new_null_array(&data_type, 2);
        let batch = RecordBatch::try_from_iter([("odd", array)]).unwrap();
        Parsed::one(Table::try_new(batch).unwrap(), Vec::new())
    }

    #[test]
    fn what_no_answer_can_give_back_is_refused_at_any_depth() {
        let fields = [
            Arc::new(Field::new("a", DataType::Int8, true)),
            Arc::new(Field::new("b", DataType::Utf8, true)),
        ];
        let union =
            DataType::Union(UnionFields::try_new([0, 1], fields).unwrap(), UnionMode::Dense);
        let months = DataType::Interval(IntervalUnit::MonthDayNano);
        let list = |of: &DataType| DataType::List(Arc::new(Field::new("item", of.clone(), true)));
        let part = |of: &DataType| DataType::Struct(vec![Field::new("p", of.clone(), true)].into());
        for data_type in [union.clone(), months.clone(), list(&months), part(&list(&months))] {
            let e = check(Format::Arrow, &of(data_type)).unwrap_err();
            assert_eq!(e.slug(), "malformed-arrow");
            assert_eq!(e.to_record().column.as_deref(), Some("odd"));
            assert!(e.to_string().contains(": send "), "{e}");
        }
        for fine in
            [DataType::Int64, list(&DataType::Utf8), part(&DataType::Date64), DataType::Null]
        {
            check(Format::Arrow, &of(fine)).unwrap();
        }
    }
}
