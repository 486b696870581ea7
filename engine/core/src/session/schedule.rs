//! Who moves next: sessions take turns, one slice each, and layouts travel to the workers and back.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use graphlume_algo::AlgoError;
use graphlume_algo::community::louvain;
use graphlume_algo::component::weak;
use graphlume_algo::gpu::louvain as gpu_louvain;
use graphlume_types::{CancelReason, CancelToken, Cancelled, DatasetId, SessionId};

use crate::config::Config;
use crate::core::Core;
use crate::device::card::Card;
use crate::error::EngineError;
use crate::event::{Event, Slice};
use crate::session::frames::{scene_frames, scene_of};
use crate::session::layout::{FrameWish, Layout, SLICE_ITERATIONS_MAX, SliceReport, SliceRequest};
use crate::session::slot::{Backend, SceneFrames};
use crate::store::{Communities, Lease, Slot};
use crate::workers::Job;

/// Above this many edges the cheaper way to communities is taken.
const LOUVAIN_EDGES_MAX: u32 = 5_000_000;
/// Seed of the communities: the same dataset always gets the same colours.
const SEED: u64 = 1;

/// Where a slice runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// On the CPU pool.
    Cpu = 0,
    /// On the device, one slice at a time.
    Device = 1,
}

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

    /// Hands out slices while workers are free. A session whose workers are busy keeps its place.
    pub(crate) fn dispatch(&mut self) {
        let mut kept = VecDeque::new();
        while self.has_room(Place::Cpu) || self.has_room(Place::Device) {
            let Some(id) = self.turns.pop_front() else { break };
            let place = self.place(&id);
            let has_room = self.has_room(place);
            let Some(session) = self.sessions.get_mut(&id) else { continue };
            if !has_room {
                kept.push_back(id);
                continue;
            }
            session.queued = false;
            if session.wants_slice() {
                if place == Place::Cpu {
                    self.make_memory_for_forces(&id);
                }
                self.send_slice(&id, place);
            }
        }
        kept.append(&mut self.turns);
        self.turns = kept;
    }

    fn has_room(&self, place: Place) -> bool {
        match place {
            Place::Cpu => self.slices_away[0] < self.config.layout_threads.max(1),
            Place::Device => self.slices_away[1] < 1,
        }
    }

    /// Where the next slice of a session runs: on the device when its forces are there, or are to be
    /// made and the graph is large enough.
    fn place(&self, id: &SessionId) -> Place {
        let Some(session) = self.sessions.get(id) else { return Place::Cpu };
        let (Some(lease), Some(layout)) = (&session.lease, &session.layout) else {
            return Place::Cpu;
        };
        let is_new = session.is_running()
            && layout.may_try_device()
            && self.shared.card().is_some()
            && lease.facts.edge_count >= self.config.gpu_edges_min;
        if layout.is_on_device() || is_new { Place::Device } else { Place::Cpu }
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

    fn send_slice(&mut self, id: &SessionId, place: Place) {
        let crew = match place {
            Place::Cpu => &self.crews.layouts,
            Place::Device => &self.crews.device,
        };
        if crew.check_room().is_err() {
            self.queue(id);
            return;
        }
        let Some(session) = self.sessions.get_mut(id) else { return };
        let (Some(lease), Some(mut layout)) = (session.lease.clone(), session.layout.take()) else {
            return;
        };
        let num_nodes = lease.facts.node_count;
        let now = self.shared.clock.monotonic();
        let card = self.shared.card().filter(|_| place == Place::Device).cloned();
        // A device that was lost this moment: the next slice goes to the CPU.
        let is_stranded = place == Place::Device && card.is_none() && !layout.is_on_device();
        let request = SliceRequest {
            lease,
            run: session.is_running() && !is_stranded,
            params: session.settings.params(num_nodes),
            pokes: std::mem::take(&mut session.pokes),
            frame: if std::mem::take(&mut session.key_wanted) {
                FrameWish::Key
            } else {
                FrameWish::WhenDue
            },
            mark: session.mark(),
            exact: !session.exact_waiters.is_empty(),
            copy: session.keeping.takes_copy(now),
            budget: self.config.slice,
            iterations_max: iterations_per_slice(&self.config)
                .min(session.iterations_left().unwrap_or(u64::MAX).max(1)),
            stop_at_rest: self.config.stop_at_rest,
            frame_interval: self.config.frame_interval,
            cancel: session.cancel.clone(),
            card,
        };
        session.away = true;
        let (generation, lost_id, id) = (session.generation, id.clone(), id.clone());
        let (pool, shared) = (self.pool.clone(), self.shared.clone());
        let run = move || {
            let clock = shared.clock.as_ref();
            let _step = (place == Place::Device)
                .then(|| shared.steps.begin("a layout slice", clock.monotonic()));
            let report = match place {
                Place::Cpu => pool.install(|| layout.slice(&request, clock)),
                // The pool is for those who compute with it.
                Place::Device => layout.slice(&request, clock),
            };
            let result = Ok(Slice { layout, report });
            Some(Event::Sliced { session: id, generation, place, result })
        };
        let lost = move || Event::Sliced {
            session: lost_id,
            generation,
            place,
            result: Err(EngineError::Dropped),
        };
        let job = Job { what: "layout", run: Box::new(run), lost: Some(Box::new(lost)) };
        if crew.submit(job).is_ok() {
            self.slices_away[place as usize] += 1;
        }
    }

    /// A layout has come back, or was lost.
    pub(crate) fn on_sliced(
        &mut self,
        id: &SessionId,
        generation: u64,
        place: Place,
        result: Result<Slice, EngineError>,
    ) {
        let away = &mut self.slices_away[place as usize];
        *away = away.saturating_sub(1);
        if place == Place::Device {
            self.look_after_device();
        }
        let now = self.now();
        let counters = &self.shared.counters;
        if let Ok(Slice { report, .. }) = &result {
            counters.iterations.fetch_add(report.iterations, Ordering::Relaxed);
            if place == Place::Device {
                counters.device_iterations.fetch_add(report.iterations, Ordering::Relaxed);
            }
            if let Some(frame) = &report.frame {
                counters.frames.fetch_add(1, Ordering::Relaxed);
                counters.frame_bytes.fetch_add(frame.bytes.len() as u64, Ordering::Relaxed);
            }
        }
        let Some(session) = self.sessions.get_mut(id).filter(|s| s.generation == generation) else {
            return;
        };
        match result {
            Ok(Slice { mut layout, mut report }) => {
                // The loss was told to the layouts that were here then, and to none that was away.
                if let Some(why) = self.shared.card.as_ref().ok().and_then(|c| c.why_lost()) {
                    layout.leave_device(&why);
                }
                let wants_room = layout.wants_room();
                let edges = session.lease.as_ref().map_or(0, |l| l.facts.edge_count);
                let (backend, why) = self.backend(edges, &layout);
                let Some(session) = self.sessions.get_mut(id) else { return };
                let failed = report.failed.take();
                session.rest_until = rest(&self.config, &report).map(|rest| now + rest);
                session.slice_done(layout, report, now);
                session.computed_by(backend, &why, now);
                if wants_room {
                    self.rest_idle_layouts();
                }
                let Some(session) = self.sessions.get_mut(id) else { return };
                if let Some(e) = failed
                    && !matches!(e, AlgoError::Cancelled(_))
                {
                    session.slice_failed(&EngineError::from_coded(&e), now);
                }
            }
            Err(error) => session.slice_failed(&error, now),
        }
        let Some(dataset) = self.sessions.get(id).map(|s| s.dataset) else { return };
        self.send_copy(id);
        self.queue(id);
        self.want_communities(dataset);
    }

    /// What a layout of a graph with so many edges is computed by, and why not by the device. The reason
    /// depends on the device as it is now, not on whether the layout has been told.
    pub(crate) fn backend(&self, edges: u32, layout: &Layout) -> (Backend, String) {
        if layout.is_on_device() {
            return (Backend::Cuda, String::new());
        }
        let min = self.config.gpu_edges_min;
        let why = match (layout.refusal(), &self.shared.card) {
            (Some(why), _) => why.to_owned(),
            (None, Ok(card)) => match card.why_lost() {
                Some(why) => why,
                None if edges < min => format!("graphs under {min} edges are faster on the CPU"),
                None => String::new(),
            },
            (None, Err(_)) => String::new(),
        };
        (Backend::Cpu, why)
    }

    /// Layouts that stand still give their memory on the device back.
    fn rest_idle_layouts(&mut self) {
        for session in self.sessions.values_mut().filter(|s| !s.is_running()) {
            if let Some(layout) = session.layout.as_mut().filter(|l| l.is_on_device()) {
                layout.rest();
            }
        }
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
        let edges_min = self.config.gpu_edges_min;
        let run = move || {
            let cancel = CancelToken::with_deadline(shared.clock.monotonic() + budget);
            let card = shared.card().filter(|_| lease.facts.edge_count >= edges_min);
            let labels = card.and_then(|card| {
                let _step =
                    shared.steps.begin("the search for communities", shared.clock.monotonic());
                pool.install(|| communities_on_device(card, &lease, &cancel))
            });
            let result = pool.install(|| color_by_community(&lease, labels, &cancel));
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
                let mut painted = Vec::new();
                for session in self.sessions.values().filter(|s| s.dataset == dataset) {
                    if session.slot.graph().is_none_or(|g| g.epoch != epoch) {
                        continue;
                    }
                    if session.coat.is_worn() {
                        painted.push(session.id.clone());
                    } else {
                        session.slot.set_scene(scene.clone());
                    }
                }
                painted.iter().for_each(|id| self.repaint(id));
            }
            Err(error) => tracing::info!(%dataset, %error, "no colours by community"),
        }
    }
}

/// Communities and the scene coloured by them; on a background worker, inside the CPU pool.
fn color_by_community(
    lease: &Lease,
    labels: Option<Vec<u32>>,
    cancel: &CancelToken,
) -> Result<SceneFrames, EngineError> {
    let labels = match labels {
        Some(labels) => labels,
        None => communities(lease, cancel)?,
    };
    let (nodes, encodings) = (lease.nodes.as_ref(), &lease.encodings);
    let scene = scene_of(&lease.graph, nodes, &lease.edges, encodings, Some(&labels))?;
    Ok(scene_frames(&scene, &lease.graph.topology, lease.order, lease.facts.epoch, 2))
}

/// Communities from the device; none when it cannot give them, and the CPU has to.
fn communities_on_device(card: &Card, lease: &Lease, cancel: &CancelToken) -> Option<Vec<u32>> {
    let weights = lease.edge_weights.as_deref();
    let options = louvain::Options { seed: SEED, ..louvain::Options::default() };
    let search = || {
        let graph = card.graph(lease)?;
        let gpu = card.gpu.stream()?;
        card.with_room(|| gpu_louvain::run(&gpu, &graph, weights, &options, cancel))
    };
    search()
        .inspect_err(
            |e| tracing::info!(dataset = %lease.dataset, error = %e, "no communities from the GPU"),
        )
        .ok()
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
