//! Work of a count of paths on either side: the kernels of `residency/tally_run.rs`, counted before they run.

use graphlume_algo::gpu::relation::CHUNK;
use graphlume_algo::gpu::tally::AT_ONCE;
use graphlume_algo::gpu::tally_sums::SUMS_AT_ONCE;
use graphlume_expr::JobTest;
use graphlume_store::{
    TallyBranch, TallyFold, TallyJob, TallyMarks, TallyRelation, TallyStep, TallyWanted,
};

use super::cost::{COUNT_BYTES, Effort, cpu_folds_us, cpu_paths_us};

/// Bytes that a relationship costs whose end is looked up: its place in the list, and a part of a sector that is cached; of a
/// mask, or of the numbers of paths, which are cached less well.
const MARK_ARC_BYTES: usize = 8;
const PATH_ARC_BYTES: usize = 24;
/// Bytes of the words that come back with every count, and of a node with its number.
const STATE_BYTES: usize = 64;
const NODE_BYTES: usize = 16;
/// Bytes that a word of a mask costs which is written by itself.
const SECTOR: usize = 32;
/// Bytes of the numbers by which the nodes with most paths are found.
const BUCKET_BYTES: usize = 8_192;
/// The part of all nodes below which the CPU keeps those that it meets by hash, and how much dearer one is then.
const FEW_PART: f64 = 16.0;
const FEW_COST: f64 = 8.0;

/// Work of a count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TallyWork {
    /// On a GPU.
    pub(crate) effort: Effort,
    /// Cells that take part in conditions.
    cells: usize,
    /// What the CPU looks at: nodes of all steps, relationships, ends.
    nodes: f64,
    arcs: f64,
    ends: f64,
    /// Rows that it makes.
    rows: f64,
    /// Relationships whose ends' numbers it adds up.
    folded: f64,
}

impl TallyWork {
    /// For a job, for which so many bytes have to be copied first.
    pub(crate) fn of(job: &TallyJob<'_>, missing_bytes: u64) -> Self {
        let effort = Effort { missing_bytes: missing_bytes as usize, ..Effort::default() };
        let mut counting = Counting { job, work: Self { effort, ..Self::default() } };
        counting.marks();
        job.branches.iter().for_each(|branch| counting.branch(branch));
        if job.wanted == TallyWanted::Starts {
            counting.launch(counting.nodes() / 8);
            counting.result(COUNT_BYTES);
            return counting.work;
        }
        let last = job.steps.len().saturating_sub(1);
        let is_marked = job.from.is_some() || !job.branches.is_empty();
        let mut source = if is_marked { Source::Marks } else { Source::One };
        let mut met = job.starts;
        counting.work.cells = counting.leaves(job.from) * counting.nodes();
        for (i, step) in job.steps.iter().enumerate() {
            let is_total = i == last && job.wanted == TallyWanted::Total;
            if is_total {
                counting.total(source, step);
            } else {
                counting.pull(source, step);
                source = Source::Each;
            }
            met = counting.cpu_step((i == 0, is_total), step, met);
        }
        match &job.fold {
            Some(fold) => counting.fold(source, fold, met),
            None => counting.end(met),
        }
        counting.work
    }

    /// Microseconds on this many threads.
    pub(crate) fn cpu_us(&self, threads: usize) -> f64 {
        let paths =
            cpu_paths_us(self.cells, (self.nodes, self.arcs), (self.ends, self.rows), threads);
        paths + cpu_folds_us(self.folded)
    }
}

/// How the paths to the nodes are known that a step begins at.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    One,
    Marks,
    Each,
}

struct Counting<'j> {
    job: &'j TallyJob<'j>,
    work: TallyWork,
}

/// Relationships of a step.
fn arcs(relation: &TallyRelation) -> usize {
    relation.topology.num_edges() as usize
}

impl Counting<'_> {
    const fn nodes(&self) -> usize {
        self.job.num_nodes as usize
    }

    fn launch(&mut self, bytes: usize) {
        self.work.effort.launches += 1;
        self.work.effort.memory_bytes += bytes;
    }

    const fn result(&mut self, bytes: usize) {
        self.work.effort.results += 1;
        self.work.effort.result_bytes += bytes;
    }

    fn marks(&mut self) {
        for marks in &self.job.marks {
            match marks {
                TallyMarks::Table(marks) => {
                    let width: usize = marks.columns.iter().map(|c| c.cells.width()).sum();
                    self.launch(self.nodes() * width + self.nodes() / 8);
                }
                TallyMarks::Nodes(nodes) => {
                    self.work.cells += nodes.len();
                    self.launch(SECTOR * nodes.len() + self.nodes() / 8);
                }
            }
        }
    }

    /// Conditions on single columns that stand on nodes.
    fn leaves(&self, marks: Option<usize>) -> usize {
        match marks.and_then(|place| self.job.marks.get(place)) {
            Some(TallyMarks::Table(marks)) => marks.test.as_ref().map_or(0, JobTest::leaves),
            Some(TallyMarks::Nodes(_)) | None => 0,
        }
    }

    /// Whether conditions other than one, such as a label, stand on nodes.
    fn is_narrowed(&self, marks: Option<usize>) -> bool {
        let marks = marks.and_then(|place| self.job.marks.get(place));
        match marks {
            Some(TallyMarks::Table(marks)) => {
                marks.test.as_ref().is_some_and(|test| test.leaves() > 1)
            }
            Some(TallyMarks::Nodes(_)) => true,
            None => false,
        }
    }

    /// A look at the lengths of the lists of marked nodes.
    fn covered(&mut self) {
        self.launch(4 * self.nodes() + self.nodes() / 8);
    }

    /// Which of the two numbers of a relation are those of where a step leads to.
    const fn far(step: &TallyStep) -> usize {
        if step.forward { 1 } else { 0 }
    }

    fn loops(&mut self, step: &TallyStep) {
        if step.apart && !step.relation.loops.is_empty() {
            self.launch(step.relation.loops.len() * 32);
        }
    }

    /// The nodes that a pattern leads to; the CPU makes a row for each of its steps.
    fn branch(&mut self, branch: &TallyBranch) {
        let mut source = if branch.from.is_some() { Source::Marks } else { Source::One };
        let mut met = branch.starts;
        self.work.cells += self.leaves(branch.from) * self.nodes();
        for step in &branch.steps {
            self.pull(source, step);
            self.launch(8 * self.nodes());
            source = Source::Marks;
            let near = f64::from(step.relation.places[1 - Self::far(step)]).max(1.0);
            met = arcs(&step.relation) as f64 * (met / near).min(1.0);
            self.work.rows += met;
        }
    }

    fn pull(&mut self, source: Source, step: &TallyStep) {
        if source == Source::Marks {
            self.covered();
        }
        let each = match source {
            Source::One => 0,
            Source::Marks => MARK_ARC_BYTES,
            Source::Each => PATH_ARC_BYTES,
        };
        self.launch(12 * self.nodes() + arcs(&step.relation) * each);
        if step.relation.longest[Self::far(step)] > CHUNK && each > 0 {
            self.launch(0);
        }
        self.loops(step);
    }

    fn total(&mut self, source: Source, step: &TallyStep) {
        if step.to.is_some() {
            self.covered();
        }
        let each = if self.is_narrowed(step.to) { MARK_ARC_BYTES } else { 0 };
        let numbers = if source == Source::Each { 8 } else { 0 };
        self.launch((4 + numbers) * self.nodes() + arcs(&step.relation) * each);
        if step.relation.longest[1 - Self::far(step)] > CHUNK && step.to.is_some() {
            self.launch(0);
        }
        self.loops(step);
        self.result(STATE_BYTES);
    }

    /// What the CPU looks at for a step from so many nodes; gives about how many it leads to.
    fn cpu_step(&mut self, (is_first, is_total): (bool, bool), step: &TallyStep, from: f64) -> f64 {
        let far = Self::far(step);
        let [near_places, far_places] =
            [1 - far, far].map(|side| f64::from(step.relation.places[side]).max(1.0));
        let all = arcs(&step.relation) as f64;
        let arcs = all * (from / near_places).min(1.0);
        let leaves = self.leaves(step.to);
        if arcs * FEW_PART < self.nodes() as f64 {
            self.work.cells += arcs as usize * leaves;
            self.work.arcs += arcs * FEW_COST;
        } else {
            self.work.cells += self.nodes() * leaves;
            self.work.nodes += self.nodes() as f64;
            let by_lengths = match is_total {
                true => !self.is_narrowed(step.to),
                false => is_first && from >= near_places,
            };
            self.work.arcs += if by_lengths { 0.0 } else { arcs };
        }
        arcs.min(far_places)
    }

    /// What is added up from so many ends.
    fn fold(&mut self, source: Source, fold: &TallyFold<'_>, met: f64) {
        let near = 1 - Self::far(&fold.step);
        let places = fold.step.relation.places[near];
        let part = (met / f64::from(places).max(1.0)).min(1.0);
        self.work.folded = arcs(&fold.step.relation) as f64 * part;
        if source == Source::Each {
            self.launch(8 * self.nodes());
        }
        self.launch(24 * self.nodes());
        let back = TallyStep { forward: !fold.step.forward, apart: false, ..fold.step.clone() };
        self.pull(Source::Each, &back);
        self.pull(Source::Marks, &back);
        if fold.column.cells.has_nulls() {
            self.pull(if fold.step.to.is_some() { Source::Marks } else { Source::One }, &back);
        }
        self.launch(32 * self.nodes());
        let (at_once, bytes) = SUMS_AT_ONCE;
        self.result(STATE_BYTES + bytes * at_once.min(places as usize));
        let more = (met.min(places.into()) as usize).saturating_sub(at_once);
        if more > 0 {
            self.result(bytes * more);
        }
    }

    /// What comes back of so many ends.
    fn end(&mut self, met: f64) {
        let Some(last) = self.job.steps.last() else { return };
        let ends = last.relation.places[Self::far(last)] as usize;
        if self.job.wanted == TallyWanted::Total {
            return;
        }
        self.work.ends = met;
        if let TallyWanted::First(_) = self.job.wanted {
            self.launch(8 * self.nodes());
            self.launch(BUCKET_BYTES);
        }
        self.launch(8 * self.nodes());
        self.result(STATE_BYTES + NODE_BYTES * AT_ONCE.min(self.nodes()));
        let more = match self.job.wanted {
            TallyWanted::First(first) => ends.min(first as usize),
            _ => ends,
        };
        if more > AT_ONCE {
            self.result(NODE_BYTES * (more - AT_ONCE));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int64Array;
    use graphlume_algo::gpu::relation::Relation;
    use graphlume_expr::{Cmp, Constant, NamedColumn, Side, TableArray, TableJob};
    use graphlume_graph::Topology;
    use graphlume_types::hash::h64;

    use super::*;

    const H200: u32 = 132;

    fn relation(n: u32, m: u64) -> TallyRelation {
        let end = |stream| (0..m).map(|i| (h64(1, stream, i) % u64::from(n)) as u32).collect();
        let (src, dst): (Vec<u32>, Vec<u32>) = (end(1), end(2));
        let topology = Arc::new(Topology::from_coo(n, &src, &dst));
        let (places, longest) = ([n, n], [60, 60]);
        TallyRelation { types: vec![], topology, loops: Arc::new([]), places, longest }
    }

    /// Whether the GPU takes two steps from so many nodes that meet a condition, to those that do.
    fn is_taken(
        relation: &TallyRelation,
        starts: f64,
        wanted: TallyWanted,
        missing: u64,
        threads: usize,
    ) -> bool {
        let cells = Int64Array::from(vec![1, 2]);
        let column =
            NamedColumn { side: Side::Nodes, name: "age", cells: TableArray::Ints(&cells) };
        let num_nodes = relation.topology.num_nodes();
        let marks = TableJob {
            rows: num_nodes as usize,
            columns: vec![column],
            test: Some(JobTest::Compare(0, Cmp::Gt, Constant::Int(5))),
            marks: true,
            ..TableJob::default()
        };
        let step =
            || TallyStep { relation: relation.clone(), forward: true, to: Some(0), apart: false };
        let steps = vec![step(), step()];
        let (marks, from, branches) = (vec![TallyMarks::Table(marks)], Some(0), vec![]);
        let fold = None;
        let job = TallyJob { num_nodes, marks, from, branches, starts, steps, wanted, fold };
        let work = TallyWork::of(&job, missing);
        work.effort.gpu_us(H200) < work.cpu_us(threads)
    }

    #[test]
    fn counts_over_much_of_a_large_graph_go_to_the_gpu() {
        let (small, large) = (relation(300, 2_000), relation(200_000, 2_000_000));
        for wanted in [TallyWanted::Total, TallyWanted::Each, TallyWanted::First(3)] {
            assert!(!is_taken(&small, 300.0, wanted, 0, 2), "{wanted:?}");
            assert!(is_taken(&large, 200_000.0, wanted, 0, 2), "{wanted:?}");
        }
        // However many threads there are, one of them counts; from a few nodes it is done soon.
        assert!(is_taken(&large, 200_000.0, TallyWanted::Each, 0, 64));
        assert!(!is_taken(&large, 10.0, TallyWanted::Each, 0, 64));
        assert!(is_taken(&large, 200_000.0, TallyWanted::First(3), 0, 64));
        // So is what has to be copied first.
        let bytes = Relation::footprint(200_000, 2_000_000, 0);
        assert!(is_taken(&large, 200_000.0, TallyWanted::First(3), bytes, 2));
    }
}
