//! Table files as graphs, for the offline commands.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use arrow_array::{ArrayRef, UInt32Array};
use graphlume_algo::view::{KeptView, Shape};
use graphlume_algo::{Column, ColumnError, GraphData, Output, Subgraph};
use graphlume_graph::{Graph, GraphSpec, Topology};
use graphlume_ingest::{Format, ParseCx, ParseSpec, Source};
use graphlume_table::{Table, to_f64};
use graphlume_types::{CancelToken, Notice};

use crate::cli::{GraphFiles, HeaderArg};
use crate::failure::{Failure, failure, unreadable};

/// A graph read from files, with what it took.
pub struct Loaded {
    /// The graph.
    pub graph: Graph,
    /// The edge table.
    pub edges: Table,
    /// Its columns of the ends of edges.
    pub ends: (String, String),
    /// The node table, when there is one.
    pub nodes: Option<Table>,
    /// Edge weights by edge table row, when a weight column was named.
    pub weights: Option<Vec<f64>>,
    /// Seconds to read and parse.
    pub load_s: f64,
    /// Seconds to number the nodes and to build the adjacency.
    pub build_s: f64,
}

/// Reads one table of a file, in the format that the extension tells.
///
/// # Errors
/// The file cannot be read or parsed.
pub fn read_table(path: &Path) -> Result<Table, Failure> {
    read(path, HeaderArg::Infer)
}

/// Reads the edge table. Column names that look like data are worth a hint: many edge lists have none.
///
/// # Errors
/// The file cannot be read or parsed.
pub fn read_edges(files: &GraphFiles) -> Result<Table, Failure> {
    let table = read(&files.edges, files.header)?;
    let names = table.column_names();
    let is_number = |n: &&str| n.parse::<f64>().is_ok_and(f64::is_finite);
    if files.header == HeaderArg::Infer && !names.is_empty() && names.iter().all(is_number) {
        say!(
            "{}: the first line ({}) was taken for the names of the columns and looks like data; give \
             --header none when the file has no such line",
            files.edges.display(),
            names.join(", ")
        );
    }
    Ok(table)
}

/// Pairs of column names that usually hold the ends of edges.
const END_COLUMNS: [(&str, &str); 4] =
    [("src", "dst"), ("source", "destination"), ("source", "target"), ("from", "to")];

/// The columns with the ends of edges: the named ones, else a usual pair, else the first two; says what it
/// took.
///
/// # Errors
/// A named column is absent, or fewer than two columns are there.
pub fn end_columns(files: &GraphFiles, edges: &Table) -> Result<(String, String), Failure> {
    let names = edges.column_names();
    let shown = files.edges.display();
    let named = |option: &str, given: &Option<String>| match given {
        Some(name) if !names.contains(&name.as_str()) => Err(failure(format!(
            "--{option} {name:?}: {shown} has no such column; its columns are: {}",
            names.join(", ")
        ))),
        other => Ok(other.clone()),
    };
    let source = named("source", &files.source)?;
    let destination = named("destination", &files.destination)?;
    let column = |wanted: &str| names.iter().find(|n| n.eq_ignore_ascii_case(wanted)).copied();
    let usual = END_COLUMNS.iter().find_map(|(a, b)| {
        let (a, b) = (column(a)?, column(b)?);
        let fits = |given: &Option<String>, own: &str| given.as_deref().is_none_or(|g| g == own);
        (fits(&source, a) && fits(&destination, b)).then_some((a, b))
    });
    let other_than = |taken: Option<&str>| names.iter().find(|n| Some(**n) != taken).copied();
    let from =
        source.as_deref().or(usual.map(|u| u.0)).or_else(|| other_than(destination.as_deref()));
    let to = destination.as_deref().or(usual.map(|u| u.1)).or_else(|| other_than(from));
    let (Some(from), Some(to)) = (from, to) else {
        return Err(failure(format!(
            "{shown}: an edge table needs two columns for the ends of edges; its columns are: {}",
            names.join(", ")
        )));
    };
    if (source.is_none() || destination.is_none()) && (from, to) != END_COLUMNS[0] {
        say!(
            "{shown}: edges go from column {from:?} to column {to:?}; name others with --source and \
             --destination"
        );
    }
    Ok((from.to_owned(), to.to_owned()))
}

/// What the first lines of a text table tell: how many begin with `#`, and what separates the cells.
fn look_at(path: &Path) -> std::io::Result<(usize, Option<char>)> {
    let mut lines = BufReader::new(File::open(path)?);
    let mut comments = 0;
    loop {
        let mut line = Vec::new();
        lines.by_ref().take(LOOK_BYTES).read_until(b'\n', &mut line)?;
        if line.first() == Some(&b'#') {
            comments += 1;
            continue;
        }
        let separator = ['\t', ',', ';'].into_iter().find(|c| line.contains(&(*c as u8)));
        return Ok((comments, separator));
    }
}

/// The longest line that is looked at for its separator.
const LOOK_BYTES: u64 = 1 << 20;
/// What to name in place of a table that is not there.
const TABLES: &str = "name a table that is there";

fn read(path: &Path, header: HeaderArg) -> Result<Table, Failure> {
    let shown = path.display();
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    let (name, lines) = match extension.as_str() {
        "feather" | "ipc" => ("arrow", false),
        "jsonl" | "ndjson" => ("json", true),
        "tsv" | "txt" => ("csv", false),
        "pq" => ("parquet", false),
        other => (other, false),
    };
    let format: Format = name.parse().map_err(|_| {
        failure(format!(
            "{shown}: the extension tells the format; use .parquet, .csv, .tsv, .txt, .json, .jsonl or .arrow"
        ))
    })?;
    std::fs::metadata(path).map_err(|e| unreadable(path, &e, TABLES))?;
    let mut options = serde_json::Map::new();
    if lines {
        options.insert("lines".to_owned(), true.into());
    }
    if name == "csv" {
        let (comments, separator) = look_at(path).map_err(|e| unreadable(path, &e, TABLES))?;
        if comments > 0 {
            options.insert("skiprows".to_owned(), comments.into());
        }
        match (extension.as_str(), separator) {
            ("tsv", _) => drop(options.insert("sep".to_owned(), "\t".into())),
            ("txt", Some(c)) => drop(options.insert("sep".to_owned(), c.to_string().into())),
            ("txt", None) => drop(options.insert("delim_whitespace".to_owned(), true.into())),
            _ => {}
        }
        if header == HeaderArg::None {
            options.insert("header".to_owned(), "none".into());
        }
    }
    let source = Source::Path(path.to_owned());
    let spec = ParseSpec { options, ..ParseSpec::plain(format) };
    let parsed = graphlume_ingest::parse(&spec, &source, &ParseCx::default())
        .map_err(|e| failure(format!("{shown}: {e}")))?;
    parsed.misread.iter().for_each(|text| say!("note: {shown}: {text}"));
    let first = parsed.tables.into_iter().next();
    first.map(|(_, table)| table).ok_or_else(|| failure(format!("{shown}: holds no table")))
}

/// Reads the tables and builds the graph.
///
/// # Errors
/// A file cannot be read, or a column is missing.
pub fn load(files: &GraphFiles) -> Result<Loaded, Failure> {
    let start = Instant::now();
    let edges = read_edges(files)?;
    let (source, destination) = end_columns(files, &edges)?;
    let nodes = files.nodes.as_deref().map(read_table).transpose()?;
    let load_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let node = nodes.as_ref().map(|table| node_column(table, files.node.as_deref()));
    let spec = GraphSpec {
        edges: &edges,
        source: &source,
        destination: &destination,
        nodes: nodes.as_ref(),
        node: node.as_deref(),
    };
    let graph = graphlume_graph::build(&spec, &CancelToken::new())?;
    say(&graphlume_graph::notices(&spec, &graph));
    let weights = files.weight.as_deref().map(|name| weight_column(&edges, name)).transpose()?;
    let build_s = start.elapsed().as_secs_f64();
    let ends = (source, destination);
    Ok(Loaded { graph, edges, ends, nodes, weights, load_s, build_s })
}

/// Tells what was not done as asked; the answer goes to standard output, this to standard error.
pub fn say(notices: &[Notice]) {
    for notice in notices {
        say!("note: {notice}");
    }
}

/// The id column of a node table: the named one, else a usual one, else the first.
#[must_use]
pub fn node_column(table: &Table, named: Option<&str>) -> String {
    let names = table.column_names();
    let usual = || ["id", "node", "nodeID", "name"].into_iter().find(|n| names.contains(n));
    let first = || names.first().copied().unwrap_or("id");
    named.or_else(usual).unwrap_or_else(first).to_owned()
}

fn weight_column(edges: &Table, name: &str) -> Result<Vec<f64>, Failure> {
    let column = edges.column(name).ok_or_else(|| {
        let known = edges.column_names().join(", ");
        failure(format!("--weight {name:?}: no such column; the edge table has {known}"))
    })?;
    let values = to_f64(column.as_ref())
        .ok_or_else(|| failure(format!("--weight {name:?}: the column is not numeric")))?;
    match values.iter().position(|v| !v.is_finite() || *v < 0.0) {
        Some(row) => Err(failure(format!(
            "--weight {name:?}: row {row} is {}; weights must be finite and not negative",
            values[row]
        ))),
        None => Ok(values),
    }
}

/// What an algorithm gave, as a table to write: columns behind the node ids; columns behind the ends of the edges; or the
/// edges of the graph that it gave, with all of their columns.
///
/// # Errors
/// The edges cannot be copied.
pub fn result_columns(loaded: &Loaded, output: Output) -> Result<Vec<(String, ArrayRef)>, Failure> {
    let graph = &loaded.graph;
    let ids = |v: &[Option<u32>]| graph.ids_at(v);
    let named = |column: Column| (column.name.to_owned(), column.values.array(ids));
    let (source, destination) = &loaded.ends;
    match output.graph {
        Some(Subgraph::Kept { edges, .. }) => {
            let rows = UInt32Array::from(edges);
            let columns =
                loaded.edges.column_names().into_iter().zip(loaded.edges.batch().columns());
            let taken = columns.map(|(name, column)| {
                let column = arrow_select::take::take(column, &rows, None);
                Ok((name.to_owned(), column.map_err(|e| failure(e.to_string()))?))
            });
            return taken.collect();
        }
        Some(Subgraph::Made { src, dst, columns }) => {
            let all = |v: Vec<u32>| ids(&v.into_iter().map(Some).collect::<Vec<_>>());
            let ends = [(source.clone(), all(src)), (destination.clone(), all(dst))];
            return Ok(ends.into_iter().chain(columns.into_iter().map(named)).collect());
        }
        None => {}
    }
    if output.edges.is_empty() {
        let nodes = ("node".to_owned(), graph.ids.clone());
        return Ok(std::iter::once(nodes).chain(output.columns.into_iter().map(named)).collect());
    }
    let rows: Vec<Option<usize>> = (0..loaded.edges.num_rows()).map(Some).collect();
    let end = |name: &String| loaded.edges.column(name).map(|c| (name.clone(), c.clone()));
    let ends = end(source).into_iter().chain(end(destination));
    let columns = output.edges.into_iter();
    let columns = columns.map(|c| named(Column { name: c.name, values: c.values.at(&rows) }));
    Ok(ends.chain(columns).collect())
}

/// The ids and columns of files, for the parameters of an algorithm, and the lists of views that it has made.
pub struct Columns<'a> {
    loaded: &'a Loaded,
    /// Made by the first parameter that names a node.
    ids: OnceLock<IdIndex>,
    views: Mutex<Vec<(Shape, Arc<KeptView>)>>,
}

impl<'a> Columns<'a> {
    /// Those of `loaded`.
    #[must_use]
    pub fn new(loaded: &'a Loaded) -> Self {
        Self { loaded, ids: OnceLock::new(), views: Mutex::default() }
    }
}

impl GraphData for Columns<'_> {
    fn node(&self, id: &str) -> Option<u32> {
        self.ids.get_or_init(|| IdIndex::new(&self.loaded.graph)).find(id)
    }

    fn kept(&self, topology: &Arc<Topology>, shape: Shape) -> Option<Arc<KeptView>> {
        // An algorithm may look at a part of the graph.
        let is_whole = Arc::ptr_eq(topology, &self.loaded.graph.topology);
        let views = self.views.lock().ok().filter(|_| is_whole)?;
        views.iter().find(|(of, _)| *of == shape).map(|(_, view)| Arc::clone(view))
    }

    fn keep(&self, topology: &Arc<Topology>, shape: Shape, lists: KeptView) {
        let is_whole = Arc::ptr_eq(topology, &self.loaded.graph.topology);
        if let Some(mut views) = self.views.lock().ok().filter(|_| is_whole) {
            views.push((shape, Arc::new(lists)));
        }
    }

    fn edge_column(&self, name: &str) -> Result<Vec<f64>, ColumnError> {
        numbers(Some(&self.loaded.edges), name)
    }

    fn node_column(&self, name: &str) -> Result<Vec<f64>, ColumnError> {
        let by_row = numbers(self.loaded.nodes.as_ref(), name)?;
        let graph = &self.loaded.graph;
        let value = |row: u32| by_row.get(row as usize).copied().unwrap_or(f64::NAN);
        let nodes = 0..graph.topology.num_nodes();
        Ok(nodes.map(|v| graph.row_of(v).map_or(f64::NAN, value)).collect())
    }
}

/// The numbers of a column by row.
fn numbers(table: Option<&Table>, name: &str) -> Result<Vec<f64>, ColumnError> {
    let names = table.map(Table::column_names).unwrap_or_default();
    let known = || names.iter().map(|n| (*n).to_owned()).collect();
    let column = table.and_then(|t| t.column(name));
    let column = column.ok_or_else(|| ColumnError::Missing { known: known() })?;
    to_f64(column.as_ref()).ok_or(ColumnError::NotNumbers)
}

/// Finds nodes by the text of their id.
pub struct IdIndex(std::collections::HashMap<String, u32>);

impl IdIndex {
    /// Indexes every node of the graph.
    #[must_use]
    pub fn new(graph: &Graph) -> Self {
        Self((0..graph.topology.num_nodes()).map(|v| (graph.id_text(v), v)).collect())
    }

    /// The node with this id.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<u32> {
        self.0.get(text).copied()
    }
}

/// Start positions from a table whose first column is the node id and which has columns x and y.
///
/// # Errors
/// The file cannot be read, a column is missing, or a node has no finite position.
pub fn positions(path: &Path, graph: &Graph) -> Result<Vec<[f32; 2]>, Failure> {
    let shown = path.display();
    let table = read_table(path)?;
    let axis = |name: &str| {
        let column = table.column(name).and_then(|c| to_f64(c.as_ref()));
        column.ok_or_else(|| failure(format!("--start {shown}: needs a numeric column {name:?}")))
    };
    let (x, y) = (axis("x")?, axis("y")?);
    let ids = IdIndex::new(graph);
    let mut out = vec![[f32::NAN; 2]; graph.topology.num_nodes() as usize];
    let node = table.batch().column(0);
    for row in 0..table.num_rows() {
        let at = [x[row] as f32, y[row] as f32];
        if let Some(v) = graphlume_table::cell_text(node.as_ref(), row).and_then(|id| ids.find(&id))
        {
            out[v as usize] = at;
        }
    }
    match out.iter().position(|p| !p[0].is_finite() || !p[1].is_finite()) {
        Some(v) => {
            let id = graph.id_text(u32::try_from(v).unwrap_or(u32::MAX));
            Err(failure(format!("--start {shown}: node {id:?} has no finite position")))
        }
        None => Ok(out),
    }
}
