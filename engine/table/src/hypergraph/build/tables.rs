//! The edge table and the node table, from the parts that they are made of.

use super::*;

impl Parts<'_> {
    fn codes(&self, column: usize) -> Result<&Codes, HypergraphError> {
        Ok(&of(&self.numbered, column)?.codes)
    }

    /// The rows of each join below each other.
    fn edge_rows(&self) -> Result<Vec<u32>, HypergraphError> {
        let rows = self.table.num_rows();
        let mut out = Vec::with_capacity(self.counts.iter().sum());
        for (Join { left, right }, count) in self.plan.joins.iter().zip(&self.counts) {
            self.cx.cancel.check()?;
            if *count == rows {
                out.extend(0..rows as u32);
                continue;
            }
            let left = &self.codes(*left)?.of_row;
            match right {
                None => out.extend((0..rows as u32).filter(|r| left[*r as usize] != NULL)),
                Some(right) => {
                    let right = &self.codes(*right)?.of_row;
                    let both = |r: &u32| left[*r as usize] != NULL && right[*r as usize] != NULL;
                    out.extend((0..rows as u32).filter(both));
                }
            }
        }
        Ok(out)
    }

    pub(super) fn edges(&self) -> Result<Table, HypergraphError> {
        let rows = UInt32Array::from(self.edge_rows()?);
        let layout = self.plan.edge_layout();
        let one = |column: &EdgeColumn| self.edge_column(*column, &rows);
        let arrays: Vec<ArrayRef> = layout.par_iter().map(one).collect::<Result<_, _>>()?;
        assemble(layout.iter().map(|c| self.plan.edge_name(*c)), arrays, rows.len())
    }

    fn edge_column(
        &self,
        column: EdgeColumn,
        rows: &UInt32Array,
    ) -> Result<ArrayRef, HypergraphError> {
        self.cx.cancel.check()?;
        let name = |c: usize| self.plan.columns[c];
        let category = |c: usize| self.plan.options.category_of(name(c));
        let both = |join: &Join, text: &dyn Fn(usize) -> String| match join.right {
            None => text(join.left),
            Some(right) => {
                format!("{}{}{}", text(join.left), self.plan.options.delim, text(right))
            }
        };
        match column {
            EdgeColumn::Left => self.ends(rows, |j| j.left),
            EdgeColumn::Right => self.ends(rows, |j| j.right.unwrap_or(j.left)),
            EdgeColumn::Event => {
                let of_row = &self.events.of_row;
                let keys = rows.values().par_iter().map(|r| of_row[*r as usize]).collect();
                dictionary(keys, None, Arc::clone(&self.events.ids))
            }
            EdgeColumn::Kind => {
                runs(&self.counts, |i| both(&self.plan.joins[i], &|c| category(c).to_owned()))
            }
            EdgeColumn::Category => {
                runs(&self.counts, |i| both(&self.plan.joins[i], &|c| name(c).to_owned()))
            }
            EdgeColumn::Attribute(i) => {
                let array = self.table.batch().column(i);
                if !is_plain_text(array.data_type()) {
                    return take(array, rows);
                }
                let codes = self.codes(i)?;
                let keys = rows.values().par_iter().map(|r| codes.of_row[*r as usize]).collect();
                dictionary_of_codes(keys, distinct_values(array, codes)?)
            }
        }
    }

    /// The nodes of one side of the edges, join after join.
    fn ends(
        &self,
        rows: &UInt32Array,
        column_of: impl Fn(&Join) -> usize,
    ) -> Result<ArrayRef, HypergraphError> {
        let mut keys = Vec::with_capacity(rows.len());
        let mut at = 0;
        for (join, count) in self.plan.joins.iter().zip(&self.counts) {
            self.cx.cancel.check()?;
            let column = column_of(join);
            let codes = &self.codes(column)?.of_row;
            let (of_code, null) = (&self.values.of_code[column], self.values.of_null[column]);
            let node = |row: &u32| match codes[*row as usize] {
                NULL => null,
                code => of_code[code as usize],
            };
            keys.extend(rows.values()[at..at + count].iter().map(node));
            at += count;
        }
        dictionary(keys, None, Arc::clone(&self.values.ids))
    }

    /// The nodes of values.
    fn listed(&self) -> &[Value] {
        &self.values.list[..self.values.in_nodes]
    }

    /// Rows that are nodes.
    fn num_events(&self) -> usize {
        if self.plan.options.direct { 0 } else { self.table.num_rows() }
    }

    pub(super) fn nodes(&self) -> Result<Table, HypergraphError> {
        let total = self.listed().len() + self.num_events();
        let layout = self.plan.node_layout();
        let one = |column: &NodeColumn| self.node_column(*column);
        let arrays: Vec<ArrayRef> = layout.par_iter().map(one).collect::<Result<_, _>>()?;
        assemble(layout.iter().map(|c| self.plan.node_name(*c)), arrays, total)
    }

    fn node_column(&self, column: NodeColumn) -> Result<ArrayRef, HypergraphError> {
        self.cx.cancel.check()?;
        let (plan, options) = (self.plan, self.plan.options);
        match column {
            NodeColumn::Id => {
                let listed = self.values.ids.slice(0, self.values.in_nodes);
                self.with_events(listed)
            }
            NodeColumn::Title => {
                let mut titles = Texts::with_capacity(self.listed().len());
                for value in self.listed() {
                    let texts = of(&self.numbered, value.column)?.texts.as_ref();
                    titles.push(&[match texts.filter(|_| value.code != NULL) {
                        Some(texts) => texts.get(value.code as usize),
                        None => &options.null_text,
                    }]);
                }
                self.with_events(titles.into_array()?)
            }
            NodeColumn::Kind => self.by_column(|c| plan.columns[c], &options.names.event_id),
            NodeColumn::Category => {
                self.by_column(|c| options.category_of(plan.columns[c]), &options.event_type)
            }
            NodeColumn::Event => {
                let mut keys = vec![NULL; self.listed().len()];
                keys.extend(self.events.of_row.iter().take(self.num_events()));
                dictionary_of_codes(keys, Arc::clone(&self.events.ids))
            }
            NodeColumn::Attribute(i) => self.attribute(i),
        }
    }

    /// A text of each value, and then the names of the rows that are nodes.
    fn with_events(&self, values: ArrayRef) -> Result<ArrayRef, HypergraphError> {
        if self.num_events() == 0 {
            return Ok(values);
        }
        let of_row = UInt32Array::from(self.events.of_row.clone());
        let mut parts = [values, take(&self.events.ids, &of_row)?];
        let bytes: usize = parts.iter().map(|p| p.get_buffer_memory_size()).sum();
        if i32::try_from(bytes).is_err() {
            for part in &mut parts {
                *part = cast(part, &DataType::LargeUtf8)?;
            }
        }
        let [values, events] = &parts;
        Ok(arrow_select::concat::concat(&[values.as_ref(), events.as_ref()])?)
    }

    /// A text that depends on the column of a value alone.
    fn by_column<'b>(
        &'b self,
        text: impl Fn(usize) -> &'b str,
        event: &'b str,
    ) -> Result<ArrayRef, HypergraphError> {
        let mut distinct = Texts::with_capacity(self.plan.entities.len() + 1);
        let mut known = HashMap::new();
        let mut key = |text: &'b str| {
            let next = distinct.len() as u32;
            *known.entry(text).or_insert_with(|| {
                distinct.push(&[text]);
                next
            })
        };
        let mut of_column = vec![0; self.table.num_cols()];
        for column in &self.plan.entities {
            of_column[*column] = key(text(*column));
        }
        let mut keys: Vec<u32> = self.listed().iter().map(|v| of_column[v.column]).collect();
        if self.num_events() > 0 {
            keys.resize(keys.len() + self.num_events(), key(event));
        }
        dictionary(keys, None, distinct.into_array()?)
    }

    /// A column of the table in the nodes: values have what they are made of, rows have all. Where a
    /// value has nothing there is a null; columns of integers and truths that know no null stay so, and
    /// have 0 and true there, as a data frame of fixed types would.
    fn attribute(&self, column: usize) -> Result<ArrayRef, HypergraphError> {
        let array = self.table.batch().column(column);
        let (listed, rows) = (self.listed(), self.num_events());
        if is_plain_text(array.data_type()) {
            let codes = self.codes(column)?;
            let own = |v: &Value| if v.column == column { v.code } else { NULL };
            let of_rows = codes.of_row.iter().copied().take(rows);
            let keys = listed.iter().map(own).chain(of_rows).collect();
            return dictionary_of_codes(keys, distinct_values(array, codes)?);
        }
        let filler = filler(array)?;
        let (source, fill) = match &filler {
            Some(one) => {
                let joined = arrow_select::concat::concat(&[array.as_ref(), one.as_ref()])?;
                (joined, Some(array.len() as u32))
            }
            None => (Arc::clone(array), None),
        };
        let first_row = self.numbered[column].as_ref().map(|n| &n.codes.first_row);
        let own = |v: &Value| {
            let rows = first_row.filter(|_| v.column == column && v.code != NULL);
            rows.map(|rows| rows[v.code as usize]).or(fill)
        };
        let indices: UInt32Array =
            listed.iter().map(own).chain((0..rows as u32).map(Some)).collect();
        take(&source, &indices)
    }
}

fn filler(array: &ArrayRef) -> Result<Option<ArrayRef>, HypergraphError> {
    let dtype = array.data_type();
    if array.null_count() > 0 {
        return Ok(None);
    }
    Ok(match dtype {
        DataType::Boolean => Some(Arc::new(BooleanArray::from(vec![true]))),
        t if t.is_integer() => Some(cast(&UInt32Array::from(vec![0]), t)?),
        _ => None,
    })
}

fn assemble<'a>(
    names: impl Iterator<Item = &'a str>,
    arrays: Vec<ArrayRef>,
    rows: usize,
) -> Result<Table, HypergraphError> {
    let fields: Vec<Field> =
        names.zip(&arrays).map(|(name, a)| Field::new(name, a.data_type().clone(), true)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let schema = Arc::new(Schema::new(fields));
    Ok(Table::try_new(RecordBatch::try_new_with_options(schema, arrays, &options)?)?)
}
