//! Counts of paths on the GPU, where the graph has one and it is faster.

use std::sync::Arc;

use graphlume_expr::TableJob;
use graphlume_graph::Direction;
use graphlume_store::{TallyAnswer, TallyDevice, TallyJob, TallyRelation, TallyStep};

use super::{Counted, Tally, scanned};
use crate::bind::Statistics;
use crate::exec::Exec;
use crate::exec::recorder::Way;
use crate::exec::statistics::Known;
use crate::plan::{Agg, AggKind, Ex, Tallied};

/// The part of the nodes that conditions are expected to leave.
const LEFT_PART: f64 = 0.25;

/// A job and the GPU that is to do it.
type Job<'e> = (&'e dyn TallyDevice, TallyJob<'e>);

/// Why a count has no form for a GPU.
type Why = &'static str;

/// The conditions on nodes of a job, each once.
#[derive(Default)]
struct Conditions<'e> {
    all: Vec<TableJob<'e>>,
}

impl<'e> Conditions<'e> {
    /// The place of a condition.
    fn place(&mut self, job: TableJob<'e>) -> usize {
        let is_it = |known: &TableJob<'e>| {
            let names = |job: &TableJob<'e>| job.columns.iter().map(|c| c.name).collect::<Vec<_>>();
            known.test == job.test && names(known) == names(&job)
        };
        if let Some(known) = self.all.iter().position(is_it) {
            return known;
        }
        self.all.push(job);
        self.all.len() - 1
    }
}

impl Exec<'_> {
    /// What [`Exec::counted`] gives; `None` where the CPU has to count.
    pub(super) fn counted_on_device(&self, of: &Tally<'_>) -> Option<Counted> {
        let (device, job) = self.tally_job(of)?.ok()?;
        if device.declines(&job).is_some() {
            return None;
        }
        let found = match device.run(&job, self.cancel)? {
            TallyAnswer::Total(paths) => Counted::Total(paths),
            TallyAnswer::Each(nodes) => Counted::Each(nodes),
        };
        self.record(|r| {
            r.took(Some(of.id), Way::Gpu);
            r.took(of.input.id(), Way::Absorbed);
            r.below(of.input, true);
        });
        Some(found)
    }

    /// What the count takes the GPU, or why that would not do it; `None` where there is none.
    pub(in crate::exec) fn tallies_on_device(
        &self,
        of: &Tally<'_>,
    ) -> Option<Result<String, String>> {
        Some(match self.tally_job(of)? {
            Err(why) => Err(why.to_owned()),
            Ok((device, job)) => device.declines(&job).map_or_else(|| Ok(device.effort(&job)), Err),
        })
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
        Some(self.job_of(of, device).map(|job| (device, job)))
    }

    fn job_of<'e>(
        &'e self,
        of: &Tally<'e>,
        device: &'e dyn TallyDevice,
    ) -> Result<TallyJob<'e>, Why> {
        let mut tests = Vec::new();
        let labels =
            scanned(of.input, &mut tests).ok_or("paths begin at nodes that are looked up")?;
        let starts = self.expected_starts(labels, &tests);
        if !device.may_pay(self.view.num_nodes(), starts) {
            return Err("paths begin at few nodes");
        }
        let no_columns = "the GPU has no kernels or no columns for a condition on nodes";
        let mut conditions = Conditions::default();
        let mut place = |slot, labels, tests| -> Result<Option<usize>, Why> {
            let job = self.nodes_job(slot, (labels, tests), of.input).ok_or(no_columns)?;
            Ok(job.map(|job| conditions.place(job)))
        };
        let from = place(of.from, labels, tests)?;
        let mut steps: Vec<TallyStep> = Vec::new();
        for tallied in of.steps {
            let step = &tallied.step;
            let to = place(step.to, step.labels.as_slice(), tallied.tests.iter().collect())?;
            steps.push(self.device_step(tallied, steps.last(), to)?);
        }
        let (num_nodes, wanted) = (self.view.num_nodes(), of.wanted);
        Ok(TallyJob { num_nodes, marks: conditions.all, from, starts, steps, wanted })
    }

    /// About how many nodes paths begin at.
    fn expected_starts(&self, labels: &[usize], tests: &[&Ex]) -> f64 {
        let params = serde_json::Map::new();
        let (view, cancel) = (self.view, self.cancel);
        let known = Known { view, params: &params, cancel, searches: false };
        let labels: Vec<&str> =
            labels.iter().filter_map(|l| Some(self.labels.get(*l)?.name())).collect();
        known.nodes(&labels, &[]) * if tests.is_empty() { 1.0 } else { LEFT_PART }
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

/// Whether a relationship may be of both.
fn share_types(a: &TallyRelation, b: &TallyRelation) -> bool {
    a.types.iter().any(|name| b.types.contains(name))
}
