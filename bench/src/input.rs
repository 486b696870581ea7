//! Graphs for the tasks, as the peers hold them.

use std::path::Path;
use std::sync::Arc;

use graphlume_graph::Topology;
use graphlume_ingest::{Format, ParseCx, ParseSpec, Parsed, Source};
use graphlume_table::{Table, to_f64};

use crate::clock::measure;
use crate::task::TaskError;

/// What the extension tells.
fn spec(path: &Path) -> ParseSpec {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let mut spec = ParseSpec::plain(extension.parse().unwrap_or(Format::Csv));
    if matches!(extension, "jsonl" | "ndjson") {
        spec.format = Format::Json;
        spec.options.insert("lines".to_owned(), true.into());
    }
    spec
}

/// The tables of a file, and what else its parse gives.
pub(crate) fn parsed(path: &Path) -> Result<Parsed, TaskError> {
    let source = Source::Path(path.to_owned());
    graphlume_ingest::parse(&spec(path), &source, &ParseCx::default())
        .map_err(|e| TaskError::Input { path: path.display().to_string(), message: e.to_string() })
}

/// The only table of a file.
pub(crate) fn read(path: &Path) -> Result<Table, TaskError> {
    let none =
        || TaskError::Input { path: path.display().to_string(), message: "no table".to_owned() };
    parsed(path)?.tables.into_iter().next().map(|(_, t)| t).ok_or_else(none)
}

struct Edges {
    num_nodes: u32,
    src: Vec<u32>,
    dst: Vec<u32>,
}

fn edges(path: &Path) -> Result<Edges, TaskError> {
    let fail = |message: &str| TaskError::Input {
        path: path.display().to_string(),
        message: message.to_owned(),
    };
    let table = read(path)?;
    let column = |name: &str| {
        let values = table.column(name).and_then(|c| to_f64(c.as_ref()));
        let values = values.ok_or_else(|| fail("needs integer columns src and dst"))?;
        let ids = values.into_iter().map(|v| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
            (v >= 0.0 && v < f64::from(u32::MAX) && v.fract() == 0.0).then_some(v as u32)
        });
        ids.collect::<Option<Vec<u32>>>().ok_or_else(|| fail("ids must be integers from 0"))
    };
    let (src, dst) = (column("src")?, column("dst")?);
    let num_nodes = src.iter().chain(&dst).max().map_or(0, |v| v + 1);
    Ok(Edges { num_nodes, src, dst })
}

/// The graph as the peers hold it, without loops and parallel edges, and the seconds to get there.
pub(crate) fn graph(path: &Path, directed: bool) -> Result<(Arc<Topology>, f64), TaskError> {
    let (graph, took) = measure(|| {
        let e = edges(path)?;
        let mut pairs: Vec<u64> = e
            .src
            .iter()
            .zip(&e.dst)
            .filter(|(s, d)| s != d)
            .map(|(s, d)| {
                let (a, b) = if directed { (*s, *d) } else { (*s.min(d), *s.max(d)) };
                u64::from(a) << 32 | u64::from(b)
            })
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        #[expect(clippy::cast_possible_truncation, reason = "the halves of a pair")]
        let (src, dst): (Vec<u32>, Vec<u32>) =
            pairs.iter().map(|p| ((p >> 32) as u32, *p as u32)).unzip();
        Ok(Arc::new(Topology::from_coo(e.num_nodes, &src, &dst)))
    });
    graph.map(|g: Arc<Topology>| (g, took.seconds))
}
