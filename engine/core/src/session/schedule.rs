//! Who moves next: sessions take turns, one slice each, and layouts travel to the workers and back.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use graphlume_algo::AlgoError;
use graphlume_algo::community::louvain;
use graphlume_algo::component::weak;
use graphlume_types::{CancelReason, CancelToken, Cancelled, DatasetId, SessionId};

use crate::config::Config;
use crate::core::Core;
use crate::error::EngineError;
use crate::event::{Event, Slice};
use crate::session::frames::{scene_frames, scene_of};
use crate::session::layout::{FrameWish, Layout, SLICE_ITERATIONS_MAX, SliceReport, SliceRequest};
use crate::session::slot::SceneFrames;
use crate::store::{Communities, Lease, Slot};
use crate::workers::Job;

/// Above this many edges the cheaper way to communities is taken.
const LOUVAIN_EDGES_MAX: u32 = 5_000_000;
/// Seed of the communities: the same dataset always gets the same colours.
const SEED: u64 = 1;

/// How many iterations a slice may have, so that one slice per poll keeps the bound of the rate.
fn iterations_per_slice(config: &Config) -> u64 {
    match u64::from(config.iterations_per_s_max) {
        0 => SLICE_ITERATIONS_MAX,
        rate => {
            let poll_us = u64::try_from(config.poll.as_micros()).unwrap_or(u64::MAX);
            rate.saturating_mul(poll_us).div_ceil(1_000_000).clamp(1, SLICE_ITERATIONS_MAX)
        }
    }
}

/// How long a layout that was faster than the bound of the rate has to rest.
fn rest(config: &Config, report: &SliceReport) -> Option<Duration> {
    if config.iterations_per_s_max == 0 || report.iterations == 0 {
        return None;
    }
    let iterations = u32::try_from(report.iterations).unwrap_or(u32::MAX);
    let due = Duration::from_secs(1) * iterations / config.iterations_per_s_max;
    due.checked_sub(report.took).filter(|rest| !rest.is_zero())
}

impl Core {
    /// Puts the session at the end of the turns, if a worker could do something for it.
    pub(crate) fn queue(&mut self, id: &SessionId) {
        if let Some(session) = self.sessions.get_mut(id)
            && !session.queued
            && session.wants_slice()
        {
            session.queued = true;
            self.turns.push_back(id.clone());
        }
    }

    /// Hands out slices while workers are free.
    pub(crate) fn dispatch(&mut self) {
        while self.slices_away < self.config.layout_threads.max(1) {
            let Some(id) = self.turns.pop_front() else { return };
            let Some(session) = self.sessions.get_mut(&id) else { continue };
            session.queued = false;
            if session.wants_slice() {
                self.make_memory_for_forces(&id);
                self.send_slice(&id);
            }
        }
    }

    /// A layout that is to move needs memory for its forces; without it, it stands still and says so.
    fn make_memory_for_forces(&mut self, id: &SessionId) {
        let Some(session) = self.sessions.get(id) else { return };
        let (Some(lease), Some(layout)) = (&session.lease, &session.layout) else { return };
        if !session.is_running() || !layout.needs_forces() {
            return;
        }
        let facts = &lease.facts;
        let bytes = Layout::forces_footprint(facts.node_count, facts.edge_count);
        let held = self.reserve(bytes);
        let now = self.now();
        let Some(session) = self.sessions.get_mut(id) else { return };
        match (held, &mut session.layout) {
            (Ok(held), Some(layout)) => layout.give_forces(held),
            (Ok(_), None) => {}
            (Err(refused), _) => {
                session.cannot_run(&EngineError::from(refused).to_string(), now);
            }
        }
    }

    fn send_slice(&mut self, id: &SessionId) {
        if self.crews.layouts.check_room().is_err() {
            self.queue(id);
            return;
        }
        let Some(session) = self.sessions.get_mut(id) else { return };
        let (Some(lease), Some(mut layout)) = (session.lease.clone(), session.layout.take()) else {
            return;
        };
        let num_nodes = lease.facts.node_count;
        let request = SliceRequest {
            lease,
            run: session.is_running(),
            params: session.settings.params(num_nodes),
            pokes: std::mem::take(&mut session.pokes),
            frame: if std::mem::take(&mut session.key_wanted) {
                FrameWish::Key
            } else {
                FrameWish::WhenDue
            },
            mark: session.mark(),
            exact: !session.exact_waiters.is_empty(),
            budget: self.config.slice,
            iterations_max: iterations_per_slice(&self.config),
            stop_at_rest: self.config.stop_at_rest,
            frame_interval: self.config.frame_interval,
            cancel: session.cancel.clone(),
        };
        session.away = true;
        let (generation, lost_id, id) = (session.generation, id.clone(), id.clone());
        let (pool, shared) = (self.pool.clone(), self.shared.clone());
        let run = move || {
            let report = pool.install(|| layout.slice(&request, shared.clock.as_ref()));
            Some(Event::Sliced { session: id, generation, result: Ok(Slice { layout, report }) })
        };
        let lost = move || Event::Sliced {
            session: lost_id,
            generation,
            result: Err(EngineError::Dropped),
        };
        let job = Job { what: "layout", run: Box::new(run), lost: Some(Box::new(lost)) };
        if self.crews.layouts.submit(job).is_ok() {
            self.slices_away += 1;
        }
    }

    /// A layout has come back, or was lost.
    pub(crate) fn on_sliced(
        &mut self,
        id: &SessionId,
        generation: u64,
        result: Result<Slice, EngineError>,
    ) {
        self.slices_away = self.slices_away.saturating_sub(1);
        let now = self.now();
        let counters = &self.shared.counters;
        if let Ok(Slice { report, .. }) = &result {
            counters.iterations.fetch_add(report.iterations, Ordering::Relaxed);
            if let Some(frame) = &report.frame {
                counters.frames.fetch_add(1, Ordering::Relaxed);
                counters.frame_bytes.fetch_add(frame.bytes.len() as u64, Ordering::Relaxed);
            }
        }
        let Some(session) = self.sessions.get_mut(id).filter(|s| s.generation == generation) else {
            return;
        };
        match result {
            Ok(Slice { layout, mut report }) => {
                let failed = report.failed.take();
                session.rest_until = rest(&self.config, &report).map(|rest| now + rest);
                session.slice_done(layout, report, now);
                if let Some(e) = failed
                    && !matches!(e, AlgoError::Cancelled(_))
                {
                    session.slice_failed(&EngineError::from_coded(&e), now);
                }
            }
            Err(error) => session.slice_failed(&error, now),
        }
        let dataset = session.dataset;
        self.queue(id);
        self.want_communities(dataset);
    }

    /// After the first picture: looks for communities, once per dataset, when only they would give the
    /// nodes meaningful colours.
    fn want_communities(&mut self, dataset: DatasetId) {
        let Some(entry) = self.store.entry_mut(dataset) else { return };
        let Slot::Resident(lease) = &entry.slot else { return };
        if entry.communities != Communities::Unknown {
            return;
        }
        if !lease.wants_communities {
            entry.communities = Communities::Done;
            return;
        }
        if self.crews.background.check_room().is_err() {
            return;
        }
        entry.communities = Communities::Asked;
        let (lease, epoch, pool) = (lease.clone(), entry.epoch, self.pool.clone());
        let (budget, shared) = (self.config.community_budget, self.shared.clone());
        let run = move || {
            let cancel = CancelToken::with_deadline(shared.clock.monotonic() + budget);
            let result = pool.install(|| color_by_community(&lease, &cancel));
            Some(Event::Communities { dataset, epoch, result })
        };
        let lost = move || Event::Communities { dataset, epoch, result: Err(EngineError::Dropped) };
        let job = Job { what: "communities", run: Box::new(run), lost: Some(Box::new(lost)) };
        let _ = self.crews.background.submit(job);
    }

    /// The colours are there, or are not to be had within the time; then the first ones stay.
    pub(crate) fn on_communities(
        &mut self,
        dataset: DatasetId,
        epoch: u32,
        result: Result<SceneFrames, EngineError>,
    ) {
        let Some(entry) = self.store.entry_mut(dataset).filter(|e| e.epoch == epoch) else {
            return;
        };
        entry.communities = Communities::Done;
        match result {
            Ok(scene) => {
                let scene = Arc::new(scene);
                entry.scene = Some(scene.clone());
                for session in self.sessions.values().filter(|s| s.dataset == dataset) {
                    if session.slot.graph().is_some_and(|g| g.epoch == epoch) {
                        session.slot.set_scene(scene.clone());
                    }
                }
            }
            Err(error) => tracing::info!(%dataset, %error, "no colours by community"),
        }
    }
}

/// Communities and the scene coloured by them; on a background worker, inside the CPU pool.
fn color_by_community(lease: &Lease, cancel: &CancelToken) -> Result<SceneFrames, EngineError> {
    let labels = communities(lease, cancel)?;
    let (nodes, encodings) = (lease.nodes.as_ref(), &lease.encodings);
    let scene = scene_of(&lease.graph, nodes, &lease.edges, encodings, Some(&labels))?;
    Ok(scene_frames(&scene, &lease.graph.topology, lease.order, lease.facts.epoch, 2))
}

/// Communities by the best method that fits the time.
fn communities(lease: &Lease, cancel: &CancelToken) -> Result<Vec<u32>, EngineError> {
    let topology = &lease.graph.topology;
    if topology.num_edges() <= LOUVAIN_EDGES_MAX {
        let weights = lease.edge_weights.as_deref();
        match louvain::run(topology, weights, SEED, 1.0, cancel) {
            Err(AlgoError::Cancelled(_)) => {}
            done => return done.map_err(|e| EngineError::from_coded(&e)),
        }
    }
    // Components are cheap, and worth showing unless nearly everything is one.
    let labels =
        weak::run(topology, &CancelToken::new()).map_err(|e| EngineError::from_coded(&e))?;
    let mut sizes = vec![0usize; labels.len()];
    for l in &labels {
        sizes[*l as usize] += 1;
    }
    let largest = sizes.iter().max().copied().unwrap_or(0);
    if largest * 10 > labels.len() * 9 {
        return Err(EngineError::Cancelled(Cancelled(CancelReason::Deadline)));
    }
    Ok(labels)
}
