//! An object of columns: arrays, objects by row label, and scalars beside them.

use std::collections::{HashMap, HashSet};

use graphlume_types::limits::{COLUMNS_MAX, ROWS_MAX};

use super::broadcast;
use super::builder::{ColumnBuilder, Scalar};
use super::reader::{Bad, Reader};
use super::rows::{Guard, PADDING_CELLS_MAX, Rows, cell};
use crate::{Format, IngestError, misread};

/// What a member of an object of columns is.
enum Member {
    Values(ColumnBuilder),
    /// Values by row label; `None` when the labels are those of the first such member.
    Labelled(ColumnBuilder, Option<Vec<String>>),
    Scalar(ColumnBuilder),
}

/// The members of an object of columns.
#[derive(Default)]
pub struct ColumnSet {
    members: Vec<(String, Member)>,
    labels: Option<Vec<String>>,
}

/// An object of columns.
pub fn columns(reader: &mut Reader<'_>, guard: Guard<'_>) -> Result<ColumnSet, Bad> {
    let mut set = ColumnSet::default();
    reader.expect(b'{', "an object of columns, or an array of rows,")?;
    let mut first = true;
    while let Some(name) = reader.member(&mut first)? {
        if set.members.len() >= COLUMNS_MAX + 2 {
            let message = format!("there are too many columns; the limit is {COLUMNS_MAX}");
            return Err(reader.limit(message));
        }
        let start = *reader;
        let mut member = set.member(reader, guard.column(&name), guard)?;
        if member.column().is_mixed() {
            // Numbers among texts are taken as they are written.
            *reader = start;
            member = set.member(reader, ColumnBuilder::text(), guard)?;
        }
        set.members.push((name.into_owned(), member));
    }
    Ok(set)
}

impl Member {
    fn column(&self) -> &ColumnBuilder {
        match self {
            Self::Values(column) | Self::Labelled(column, _) | Self::Scalar(column) => column,
        }
    }
}

fn check(column: &ColumnBuilder, guard: Guard<'_>, reader: &Reader<'_>) -> Result<(), Bad> {
    if column.len() as u64 > ROWS_MAX {
        return Err(reader.limit(format!("there are too many rows; the limit is {ROWS_MAX}")));
    }
    if column.len().is_multiple_of(4096) {
        guard.cancel.check().map_err(|_| reader.bad("stopped"))?;
    }
    Ok(())
}

impl ColumnSet {
    fn member(
        &mut self,
        reader: &mut Reader<'_>,
        column: ColumnBuilder,
        guard: Guard<'_>,
    ) -> Result<Member, Bad> {
        let start = reader.position();
        let member = match reader.peek() {
            Some(b'[') => values(reader, column, guard)?,
            Some(b'{') => self.labelled(reader, column, guard)?,
            _ => {
                let mut column = column;
                cell(reader, &mut column)?;
                Member::Scalar(column)
            }
        };
        let rows = member.column().len() as u64;
        guard.meter.add(
            (reader.position() - start) as u64,
            if self.members.is_empty() { rows } else { 0 },
        );
        Ok(member)
    }

    fn labelled(
        &mut self,
        reader: &mut Reader<'_>,
        mut column: ColumnBuilder,
        guard: Guard<'_>,
    ) -> Result<Member, Bad> {
        reader.expect(b'{', "an object of values by row")?;
        let mut own: Option<Vec<String>> = None;
        let mut first = true;
        while let Some(key) = reader.member(&mut first)? {
            let row = column.len();
            let same = self.labels.as_ref().is_some_and(|l| l.get(row).is_some_and(|l| *l == key));
            match &mut own {
                Some(own) => own.push(key.into_owned()),
                None if same => {}
                None => {
                    let known = self.labels.as_deref().unwrap_or_default();
                    let mut list = known.get(..row).unwrap_or_default().to_vec();
                    list.push(key.into_owned());
                    own = Some(list);
                }
            }
            cell(reader, &mut column)?;
            check(&column, guard, reader)?;
        }
        if self.labels.is_none() {
            self.labels = Some(own.take().unwrap_or_default());
        } else if own.is_none() && self.labels.as_ref().is_some_and(|l| l.len() > column.len()) {
            let known = self.labels.as_deref().unwrap_or_default();
            own = Some(known[..column.len()].to_vec());
        }
        Ok(Member::Labelled(column, own))
    }
}

fn values(
    reader: &mut Reader<'_>,
    mut column: ColumnBuilder,
    guard: Guard<'_>,
) -> Result<Member, Bad> {
    reader.expect(b'[', "an array of values")?;
    let mut first = true;
    while reader.item(&mut first)? {
        cell(reader, &mut column)?;
        check(&column, guard, reader)?;
    }
    Ok(Member::Values(column))
}

impl ColumnSet {
    /// Columns of equal length, and the agent's name and version that a client adds as texts.
    pub fn into_rows(self) -> Result<(Rows, [Option<String>; 2]), IngestError> {
        let mut agents = [None, None];
        let mut members = Vec::with_capacity(self.members.len());
        let is_column = |m: &Member| !matches!(m, Member::Scalar(_));
        let columnar = self.members.iter().any(|(_, m)| is_column(m));
        for (name, member) in self.members {
            let slot = match name.as_str() {
                "agent_name" => Some(0),
                "agent_version" => Some(1),
                _ => None,
            };
            match (slot, &member) {
                (Some(slot), Member::Scalar(one)) if columnar => {
                    if let Scalar::Text(text) = one.get(0) {
                        agents[slot] = Some(text.to_owned());
                        continue;
                    }
                }
                _ => {}
            }
            members.push((name, member));
        }
        let labels = union(self.labels.unwrap_or_default(), &members);
        let mut rows = Rows::default();
        rows.count = usize::from(!columnar);
        let mut first: Option<String> = None;
        for (name, member) in &members {
            let len = match member {
                Member::Scalar(_) => continue,
                Member::Values(column) => column.len(),
                Member::Labelled(..) => labels.len(),
            };
            match &first {
                None => (first, rows.count) = (Some(name.clone()), len),
                Some(_) if len == rows.count => {}
                Some(first) => {
                    let count = rows.count;
                    let graph = misread::is_graph(members.iter().map(|(name, _)| name.as_str()));
                    let hint = if graph { format!("; {}", misread::GRAPH) } else { String::new() };
                    return Err(IngestError::Malformed {
                        format: Format::Json,
                        message: format!(
                            "column {name:?} has {len} values but column {first:?} has {count}{hint}"
                        ),
                        row: None,
                        column: Some(name.clone()),
                    });
                }
            }
        }
        if members.is_empty() {
            rows.count = 0;
        }
        check_expansion(&members, rows.count)?;
        for (name, member) in members {
            let column = match member {
                Member::Values(column) | Member::Labelled(column, None) => column,
                Member::Labelled(column, Some(own)) => align(&column, &own, &labels),
                Member::Scalar(one) => broadcast(one, rows.count),
            };
            rows.names.push(name);
            rows.columns.push(column);
        }
        Ok((rows, agents))
    }
}

/// Refuses documents whose scalars or foreign labels make far more cells than they have values.
fn check_expansion(members: &[(String, Member)], rows: usize) -> Result<(), IngestError> {
    let (mut made, mut given) = (0u64, 0u64);
    for (_, member) in members {
        match member {
            Member::Values(column) | Member::Labelled(column, _) => given += column.len() as u64,
            Member::Scalar(one) => {
                let Scalar::Text(text) = one.get(0) else { continue };
                made += text.len() as u64 / 8 * rows as u64;
            }
        }
        made += rows as u64;
    }
    if made > given + PADDING_CELLS_MAX {
        let message = format!(
            "the JSON would expand from {given} to {made} values; at most {PADDING_CELLS_MAX} are \
             filled in"
        );
        return Err(IngestError::too_large(message));
    }
    Ok(())
}

/// All labels in the order of their first appearance.
fn union(mut labels: Vec<String>, members: &[(String, Member)]) -> Vec<String> {
    let foreign = |m: &Member| matches!(m, Member::Labelled(_, Some(_)));
    if !members.iter().any(|(_, m)| foreign(m)) {
        return labels;
    }
    let mut known: HashSet<String> = labels.iter().cloned().collect();
    for (_, member) in members {
        let Member::Labelled(_, Some(own)) = member else { continue };
        for label in own {
            if known.insert(label.clone()) {
                labels.push(label.clone());
            }
        }
    }
    labels
}

fn align(column: &ColumnBuilder, own: &[String], labels: &[String]) -> ColumnBuilder {
    let at: HashMap<&str, usize> = own.iter().enumerate().map(|(i, l)| (l.as_str(), i)).collect();
    let mut out = ColumnBuilder::default();
    out.rounded_before(column);
    for label in labels {
        // A row past the end reads as null.
        out.push_from(column, at.get(label.as_str()).copied().unwrap_or(usize::MAX));
    }
    out
}
