//! Counts of paths on the GPU, where the graph has one and it is faster.

use std::sync::Arc;

use graphlume_expr::TableJob;
use graphlume_graph::Direction;
use graphlume_store::{
    TallyAnswer, TallyBranch, TallyDevice, TallyFold, TallyJob, TallyMarks, TallyRelation,
    TallyStep, TallySums,
};

use super::within::{Branch, Place, Within};
use super::{Counted, Tally, scanned};
use crate::bind::{Given, Statistics, Wanted, seek_of};
use crate::exec::Exec;
use crate::exec::eval::set;
use crate::exec::recorder::Way;
use crate::exec::statistics::Known;
use crate::exec::sums::Summing;
use crate::plan::{Agg, AggKind, Ex, Op, OpId, Slot, Step, Tallied};
use crate::value::Value;

/// The part of the nodes that conditions are expected to leave.
const LEFT_PART: f64 = 0.25;
/// Nodes with a label that are looked at one by one at most.
const FEW_NODES: usize = 1 << 13;

/// A job and the GPU that is to do it.
type Job<'e> = (&'e dyn TallyDevice, TallyJob<'e>);

/// Why a count has no form for a GPU.
type Why = &'static str;

/// The conditions on nodes of a job, each once.
#[derive(Default)]
struct Conditions<'e> {
    all: Vec<TallyMarks<'e>>,
}

/// Whether both are the same condition.
fn are_same(a: &TallyMarks<'_>, b: &TallyMarks<'_>) -> bool {
    match (a, b) {
        (TallyMarks::Nodes(a), TallyMarks::Nodes(b)) => a == b,
        (TallyMarks::Table(a), TallyMarks::Table(b)) => {
            let names = |job: &TableJob<'_>| {
                job.columns.iter().map(|c| c.name.to_owned()).collect::<Vec<_>>()
            };
            a.test == b.test && names(a) == names(b)
        }
        _ => false,
    }
}

impl<'e> Conditions<'e> {
    /// The place of a condition.
    fn place(&mut self, marks: TallyMarks<'e>) -> usize {
        if let Some(known) = self.all.iter().position(|known| are_same(known, &marks)) {
            return known;
        }
        self.all.push(marks);
        self.all.len() - 1
    }
}

/// Where paths begin: what holds for these nodes, and the pattern that has led to them, if one has.
struct Begin<'e> {
    place: Place<'e>,
    within: Within<'e>,
}

fn begin<'e>(of: &Tally<'e>) -> Option<Begin<'e>> {
    let inner = match of.input {
        Op::Distinct { input, .. } => &**input,
        op => op,
    };
    let within = Within::of(inner, of.from)?;
    Some(Begin { place: within.place(of.from)?, within })
}

/// A job as it is made.
struct Making<'e> {
    exec: &'e Exec<'e>,
    below: &'e Op,
    conditions: Conditions<'e>,
}

impl<'e> Making<'e> {
    /// The place of the condition that nodes have to meet; none where all do.
    fn condition(&mut self, place: &Place<'e>) -> Result<Option<usize>, Why> {
        let of = (place.labels, place.tests.clone());
        let marks = match self.exec.nodes_job(place.slot, of, self.below) {
            Some(None) => return Ok(None),
            Some(Some(job)) => Some(TallyMarks::Table(job)),
            None => self.exec.few_nodes(place).map(TallyMarks::Nodes),
        };
        let marks = marks.ok_or("the GPU has no kernels or no columns for a condition on nodes")?;
        Ok(Some(self.conditions.place(marks)))
    }

    /// About how many nodes meet a condition.
    fn expected(&self, place: &Place<'_>, condition: Option<usize>) -> f64 {
        match condition.and_then(|condition| self.conditions.all.get(condition)) {
            Some(TallyMarks::Nodes(nodes)) => nodes.len() as f64,
            _ => self.exec.expected(place),
        }
    }

    fn branch(&mut self, within: &Within<'e>, branch: &Branch<'e>) -> Result<TallyBranch, Why> {
        let place = |slot| within.place(slot).ok_or("a step leads to a node that nothing names");
        let first = place(branch.from)?;
        let from = self.condition(&first)?;
        let starts = self.expected(&first, from);
        let mut steps = Vec::new();
        for taken in &branch.steps {
            let to = self.condition(&place(taken.to)?)?;
            let relation = self.exec.device_relation(taken.step)?;
            steps.push(TallyStep { relation, forward: taken.forward, to, apart: false });
        }
        Ok(TallyBranch { from, starts, steps })
    }

    fn fold(&mut self, of: &Summing<'e>) -> Result<TallyFold<'e>, Why> {
        let step = of.step;
        let to = self.condition(&Place::new(step.to, &step.labels, of.tests.clone()))?;
        let forward = step.direction == Direction::Forward;
        let relation = self.exec.device_relation(step)?;
        let step = TallyStep { relation, forward, to, apart: false };
        Ok(TallyFold { step, column: of.column, least: of.range.least })
    }
}

impl Exec<'_> {
    /// How many nodes of a slot there are in the matches of a pattern, where the GPU counts them.
    pub(in crate::exec) fn starts_on_device(
        &self,
        id: OpId,
        input: &Op,
        slot: Slot,
    ) -> Option<u64> {
        match self.counted_on_device(&Tally::starts(id, input, slot))? {
            Counted::Total(nodes) => Some(nodes),
            Counted::Each(_) => None,
        }
    }

    /// What [`Exec::counted`] gives; `None` where the CPU has to count.
    pub(super) fn counted_on_device(&self, of: &Tally<'_>) -> Option<Counted> {
        let (device, job) = self.tally_job(of)?.ok()?;
        if device.declines(&job).is_some() {
            return None;
        }
        let found = match device.run(&job, self.cancel)? {
            TallyAnswer::Total(paths) => Counted::Total(paths),
            TallyAnswer::Each(nodes) => Counted::Each(nodes),
            TallyAnswer::Sums(_) => return None,
        };
        self.record(|r| {
            r.took(Some(of.id), Way::Gpu);
            r.took(of.input.id(), Way::Absorbed);
            r.below(of.input, Self::masked_by_device(of.input));
        });
        Some(found)
    }

    /// What a last step leads to from the nodes that paths lead to, added up; `None` where the CPU has to do it.
    pub(in crate::exec) fn sums_on_device(&self, of: &Summing<'_>) -> Option<Vec<TallySums>> {
        let (device, job) = self.sums_job(of)?.ok()?;
        if device.declines(&job).is_some() {
            return None;
        }
        match device.run(&job, self.cancel)? {
            TallyAnswer::Sums(nodes) => Some(nodes),
            TallyAnswer::Total(_) | TallyAnswer::Each(_) => None,
        }
    }

    /// What [`Self::sums_on_device`] takes the GPU, or why that would not do it; `None` where there is none.
    pub(in crate::exec) fn side_of_sums(&self, of: &Summing<'_>) -> Option<Result<String, String>> {
        Some(side(self.sums_job(of)?))
    }

    /// Whether paths begin at the nodes of a scan, which the GPU tests by columns.
    pub(in crate::exec) fn masked_by_device(input: &Op) -> bool {
        scanned(input, &mut Vec::new()).is_some()
    }

    /// What the count takes the GPU, or why that would not do it; `None` where there is none.
    pub(in crate::exec) fn tallies_on_device(
        &self,
        of: &Tally<'_>,
    ) -> Option<Result<String, String>> {
        Some(side(self.tally_job(of)?))
    }

    /// How many of the first groups are wanted, where they come in descending order of the number of paths and that is all that is
    /// known of them.
    pub(in crate::exec) fn first_by_paths(
        keys: &[(Ex, bool)],
        aggs: &[Agg],
        wanted: usize,
    ) -> Option<u32> {
        let Some((Ex::Slot(slot), true)) = keys.first() else { return None };
        let is_it = |a: &Agg| a.slot == *slot && a.kind == AggKind::CountRows && a.weight.is_some();
        u32::try_from(wanted).ok().filter(|_| aggs.iter().any(is_it))
    }

    fn tally_job<'e>(&'e self, of: &Tally<'e>) -> Option<Result<Job<'e>, Why>> {
        let device = self.view.graph().tally_device().filter(|_| self.by_columns)?;
        Some(self.job_of((of, None), device).map(|job| (device, job)))
    }

    fn sums_job<'e>(&'e self, of: &Summing<'e>) -> Option<Result<Job<'e>, Why>> {
        let device = self.view.graph().tally_device().filter(|_| self.by_columns)?;
        Some(self.job_of((&of.paths, Some(of)), device).map(|job| (device, job)))
    }

    fn job_of<'e>(
        &'e self,
        (of, sums): (&Tally<'e>, Option<&Summing<'e>>),
        device: &'e dyn TallyDevice,
    ) -> Result<TallyJob<'e>, Why> {
        let begin = begin(of).ok_or("paths begin at nodes that are looked up")?;
        let num_nodes = self.view.num_nodes();
        let starts = self.expected_starts(&begin);
        let added = sums.map_or(0.0, |sums| self.related(sums.step));
        if !device.may_pay(num_nodes, starts.max(added)) {
            return Err("paths begin at few nodes");
        }
        let mut making = Making { exec: self, below: of.input, conditions: Conditions::default() };
        let from = making.condition(&begin.place)?;
        let mut branches = Vec::new();
        for branch in &begin.within.branches {
            branches.push(making.branch(&begin.within, branch)?);
        }
        let mut steps: Vec<TallyStep> = Vec::new();
        for tallied in of.steps {
            let (step, tests) = (&tallied.step, tallied.tests.iter().collect());
            let to = making.condition(&Place::new(step.to, &step.labels, tests))?;
            steps.push(self.device_step(tallied, steps.last(), to)?);
        }
        let (starts, wanted) = (making.expected(&begin.place, from), of.wanted);
        let fold = sums.map(|sums| making.fold(sums)).transpose()?;
        let marks = making.conditions.all;
        Ok(TallyJob { num_nodes, marks, from, branches, starts, steps, wanted, fold })
    }

    /// About how many nodes paths begin at, or how many ways lead to them.
    fn expected_starts(&self, begin: &Begin<'_>) -> f64 {
        let within = &begin.within;
        let met = within.branches.iter().map(|branch| {
            let first = within.place(branch.from).map_or(0.0, |place| self.expected(&place));
            branch.steps.iter().fold(first, |met, taken| {
                let step = taken.step;
                let near = if taken.to == step.to { step.from } else { step.to };
                let all = within.place(near).map_or(1.0, |place| self.labelled_as(&place));
                met * self.related(step) / all.max(1.0)
            })
        });
        met.reduce(f64::max).unwrap_or_else(|| self.expected(&begin.place))
    }

    /// About how many nodes meet what is asked of a place.
    fn expected(&self, place: &Place<'_>) -> f64 {
        if place.seeks.is_empty() {
            return self.labelled_as(place) * if place.tests.is_empty() { 1.0 } else { LEFT_PART };
        }
        let wanted = place.seeks.iter().map(|seek| Wanted {
            key: seek.key.and_then(|key| self.keys.get(key)).map(|key| &*key.name),
            value: match &seek.value {
                Ex::Const(value) => Given::Value(value),
                Ex::Param(i) => self.params.get(*i).map_or(Given::Unknown, Given::Value),
                _ => Given::Unknown,
            },
            any: seek.any,
        });
        self.nodes_with(place.labels, &wanted.collect::<Vec<_>>())
    }

    fn labelled_as(&self, place: &Place<'_>) -> f64 {
        self.nodes_with(place.labels, &[])
    }

    fn nodes_with(&self, labels: &[usize], wanted: &[Wanted<'_>]) -> f64 {
        let params = serde_json::Map::new();
        let (view, cancel) = (self.view, self.cancel);
        let known = Known { view, params: &params, cancel, searches: false };
        let names = labels.iter().filter_map(|l| Some(self.labels.get(*l)?.name()));
        known.nodes(&names.collect::<Vec<_>>(), wanted)
    }

    /// The nodes that meet what is asked of a place, looked at one by one, where only few have its label, or a value that an
    /// index knows.
    fn few_nodes(&self, place: &Place<'_>) -> Option<Vec<u32>> {
        let mut row = vec![Value::NULL; place.slot + 1];
        let mut nodes = match self.named_nodes(place, &mut row) {
            Some(nodes) => nodes,
            None => self.few_labelled(place)?,
        };
        nodes.retain(|v| self.has_labels(*v, place.labels));
        for test in &place.tests {
            let mut passed = Vec::with_capacity(nodes.len());
            for v in nodes {
                set(&mut row, place.slot, Value::Node(v));
                if self.test(test, &mut row).ok()? == Some(true) {
                    passed.push(v);
                }
            }
            nodes = passed;
        }
        Some(nodes)
    }

    /// The nodes with the label of a place.
    fn few_labelled(&self, place: &Place<'_>) -> Option<Vec<u32>> {
        let first = place.labels.first()?;
        if self.labelled_as(place) > FEW_NODES as f64 {
            return None;
        }
        self.prepare_labels(place.labels);
        listed(self.view.bits_of(self.labels.get(*first)?)?, FEW_NODES)
    }

    /// Few nodes among which are all with a value that a condition names, by an index.
    fn named_nodes(&self, place: &Place<'_>, row: &mut [Value]) -> Option<Vec<u32>> {
        let seeks = place.tests.iter().filter_map(|test| seek_of(test));
        let named = seeks.filter(|(slot, seek)| *slot == place.slot && seek.key.is_some());
        let seeks: Vec<_> = named.map(|(_, seek)| seek).collect();
        self.looked_up(&seeks, row).ok()?.filter(|nodes| nodes.len() <= FEW_NODES)
    }

    fn related(&self, step: &Step) -> f64 {
        let params = serde_json::Map::new();
        let (view, cancel) = (self.view, self.cancel);
        let known = Known { view, params: &params, cancel, searches: false };
        let words = self.type_words(&step.types);
        known.relationships(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The relationships of a step, apart from all others.
    fn device_relation(&self, step: &Step) -> Result<TallyRelation, Why> {
        let test = self.prepared_test(step).ok();
        let found = test.as_ref().and_then(|test| test.relation());
        let relation = found.ok_or("the relationships of a step are not kept by themselves")?;
        Ok(relation.for_device(&self.type_words(&step.types)))
    }

    fn device_step(
        &self,
        tallied: &Tallied,
        before: Option<&TallyStep>,
        to: Option<usize>,
    ) -> Result<TallyStep, Why> {
        let step = &tallied.step;
        let forward = match step.direction {
            Direction::Forward => true,
            Direction::Reverse => false,
            Direction::Undirected => return Err("a step goes either way"),
        };
        let test = self.prepared_test(step).ok();
        let found = test.as_ref().and_then(|test| test.relation());
        let relation = found.ok_or("the relationships of a step are not kept by themselves")?;
        let relation = relation.for_device(&self.type_words(&step.types));
        let apart =
            tallied.apart && before.is_some_and(|before| share_types(&before.relation, &relation));
        let plain = |before: &TallyStep| {
            before.forward == forward && Arc::ptr_eq(&before.relation.topology, &relation.topology)
        };
        match apart && !before.is_some_and(plain) {
            true => Err("steps of other types or directions must not take one relationship twice"),
            false => Ok(TallyStep { relation, forward, to, apart }),
        }
    }
}

/// What a job takes the GPU, or why that would not do it.
fn side(job: Result<Job<'_>, Why>) -> Result<String, String> {
    let (device, job) = job.map_err(str::to_owned)?;
    device.declines(&job).map_or_else(|| Ok(device.effort(&job)), Err)
}

/// The numbers of the bits that are set; `None` where there are more than so many.
fn listed(bits: &[u64], most: usize) -> Option<Vec<u32>> {
    let count: usize = bits.iter().map(|word| word.count_ones() as usize).sum();
    let some = (0..).step_by(64).zip(bits).filter(|(_, word)| **word != 0);
    let of = |(first, word): (u32, &u64)| {
        let word = *word;
        (0..64).filter(move |i| word >> i & 1 == 1).map(move |i| first + i)
    };
    (count <= most).then(|| some.flat_map(of).collect())
}

/// Whether a relationship may be of both.
fn share_types(a: &TallyRelation, b: &TallyRelation) -> bool {
    a.types.iter().any(|name| b.types.contains(name))
}
