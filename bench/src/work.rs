//! The memory traffic that a task cannot do without, by its own count of nodes, arcs and iterations, and the
//! time that an H200 needs for it at given rates. An arc is one stored direction of an edge.

use serde_json::{Value, json};

/// Traffic of a whole task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Bytes read and written one after the other.
    pub stream_bytes: f64,
    /// Reads of single cells at random.
    pub gathers: f64,
    /// Size of the table that is read at random.
    pub table_bytes: f64,
}

/// Nodes and arcs of what a task works on, and how often it goes over them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Nodes.
    pub nodes: f64,
    /// Arcs.
    pub arcs: f64,
    /// Iterations; 1 for what is done once.
    pub rounds: f64,
}

impl Work {
    /// PageRank: for every arc an index and a gather of what its source sends; for every node rank, share
    /// and change.
    #[must_use]
    pub fn pagerank(s: Size) -> Self {
        Self {
            stream_bytes: s.rounds * (4.0 * s.arcs + 28.0 * s.nodes),
            gathers: s.rounds * s.arcs,
            table_bytes: 4.0 * s.nodes,
        }
    }

    /// Louvain: for every arc that is visited an index, the label at its end and the sum of that label.
    #[must_use]
    pub fn louvain(nodes: f64, visits: f64) -> Self {
        Self { stream_bytes: 4.0 * visits, gathers: 2.0 * visits, table_bytes: 4.0 * nodes }
    }

    /// Components by sampling: two edges of every node, and twice the way to the root.
    #[must_use]
    pub fn components(nodes: f64) -> Self {
        Self { stream_bytes: 24.0 * nodes, gathers: 6.0 * nodes, table_bytes: 4.0 * nodes }
    }

    /// Breadth-first search: for every arc an index and the distance at its end, twice for predecessors.
    #[must_use]
    pub fn bfs(s: Size) -> Self {
        Self {
            stream_bytes: 8.0 * s.arcs + 12.0 * s.nodes,
            gathers: 2.0 * s.arcs,
            table_bytes: 4.0 * s.nodes,
        }
    }

    /// Hops: for every arc of the frontiers an index and the bit of its end.
    #[must_use]
    pub fn hops(nodes: f64, arcs: f64) -> Self {
        Self { stream_bytes: 4.0 * arcs, gathers: arcs, table_bytes: nodes / 8.0 }
    }

    /// A filter: the columns and the mask.
    #[must_use]
    pub fn filter(rows: f64, bytes_per_row: f64) -> Self {
        Self { stream_bytes: rows * (bytes_per_row + 0.125), ..Self::default() }
    }
}

/// Rates of a GPU.
#[derive(Clone, Copy, Debug)]
pub struct GpuRates {
    /// Bytes a second, read and written, of a copy in device memory.
    pub stream_bytes: f64,
    /// 4-byte cells a second at random from a table that fits the second-level cache.
    pub gathers: f64,
    /// Seconds of one launch inside a recorded sequence.
    pub launch_s: f64,
}

impl GpuRates {
    /// The least seconds for `work` in `launches` launches.
    #[must_use]
    pub fn floor_s(&self, work: Work, launches: f64) -> f64 {
        let memory = (work.stream_bytes / self.stream_bytes).max(work.gathers / self.gathers);
        memory + launches * self.launch_s
    }

    /// The least seconds for an iteration of ForceAtlas2 over `nodes` and `arcs`, in its five parts:
    /// attraction, sort, tree, repulsion (a warp visits 140 cells times 2.5 for the union of its bodies)
    /// and update.
    #[must_use]
    pub fn fa2_s(&self, nodes: f64, arcs: f64) -> f64 {
        let (dram, cells) = (self.stream_bytes, self.gathers);
        let attract = ((4.0 * arcs + 16.0 * nodes) / dram).max(arcs / cells);
        let sort = 128.0 * nodes / dram + 9.0 * self.launch_s;
        let tree = 96.0 * nodes / dram + 12.0 * self.launch_s;
        let visits = nodes / 32.0 * 140.0 * 2.5;
        let repulse = (visits / cells).max(visits * 32.0 * 14.0 / 45e12);
        attract + sort + tree + repulse + 64.0 * nodes / dram
    }

    /// For a report.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "copy_gb_s": self.stream_bytes / 1e9,
            "gather_g_s": self.gathers / 1e9,
            "launch_us": self.launch_s * 1e6,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: GpuRates = GpuRates { stream_bytes: 4.3e12, gathers: 172e9, launch_s: 2.5e-6 };

    #[test]
    fn the_floors_of_an_h200_are_the_planned_ones() {
        let rmat20 = Size { nodes: 1_048_576.0, arcs: 16.36e6, rounds: 1.0 };
        let ms = H200.floor_s(Work::pagerank(rmat20), 0.0) * 1e3;
        assert!((ms - 0.095).abs() < 0.002, "{ms}");
        let ms = H200.fa2_s(1e6, 1e7) * 1e3;
        assert!((ms - 0.29).abs() < 0.02, "{ms}");
        let filter = H200.floor_s(Work::filter(1e8, 12.0), 0.0) * 1e3;
        assert!((0.25..0.35).contains(&filter), "{filter}");
    }
}
