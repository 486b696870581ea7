//! Control of the layout by viewers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use graphlume_types::limits;
use serde_json::{Map, Value};

use crate::error::EngineError;
use crate::session::machine::VizSession;
use crate::session::placement::Placement;
use crate::session::slice::PinChange;
use crate::session::state::{GraphState, Remaining, Run};

/// Iterations that a viewer's "play" runs even when the layout was at rest.
const PLAY_ITERATIONS_MIN: u64 = 64;

/// A change to a running session.
#[derive(Debug, Clone, PartialEq)]
pub enum Control {
    /// Starts or stops the layout.
    Play {
        /// Start or stop.
        on: bool,
        /// The play time that says for how many iterations; without it, until it settles.
        for_millis: Option<u64>,
    },
    /// Changes knobs, under the names of [`LayoutSettings`](crate::LayoutSettings).
    Settings(Map<String, Value>),
    /// Holds a node at a place of the layout's coordinates.
    Pin {
        /// Node index.
        node: u32,
        /// Where.
        at: [f32; 2],
    },
    /// Lets a node go.
    Unpin {
        /// Node index.
        node: u32,
    },
    /// Holds nodes, or lets them go where there is no place: all of them, or none.
    Pins(Vec<(u32, Option<[f32; 2]>)>),
    /// Moves all nodes; those that are held stay.
    Place(Arc<Placement>),
    /// Moves all nodes to where the session began: the places that the data has.
    Given,
}

impl VizSession {
    /// What a viewer asks for.
    ///
    /// # Errors
    /// [`EngineError::Setting`], [`EngineError::Index`], [`EngineError::NotLoaded`],
    /// [`EngineError::Busy`] past the limit of pins, [`EngineError::Epoch`] for places of another element set.
    pub(crate) fn control(&mut self, control: Control, now: Instant) -> Result<(), EngineError> {
        match control {
            Control::Play { on: true, for_millis } => {
                let millis = for_millis.unwrap_or(limits::PLAY_MILLIS_MAX);
                self.settle_after = self.iterations + PLAY_ITERATIONS_MIN;
                self.play(Remaining::Play(millis.min(limits::PLAY_MILLIS_MAX)), now);
            }
            Control::Play { on: false, .. } => match self.run {
                Run::Running { left } => {
                    let left = left.map(Remaining::Iterations);
                    self.stop(Run::Paused { auto: false, left }, "", now);
                }
                Run::Paused { left, .. } => {
                    self.run = Run::Paused { auto: false, left };
                    self.publish(now);
                }
                Run::Settled | Run::Stopped => {}
            },
            Control::Settings(patch) => self.change_settings(&patch, now)?,
            Control::Pin { node, at } => self.change_pins(&[(node, Some(at))])?,
            Control::Unpin { node } => self.change_pins(&[(node, None)])?,
            Control::Pins(pins) => self.change_pins(&pins)?,
            Control::Place(placement) => self.place(placement, now)?,
            Control::Given => self.place_given(now)?,
        }
        Ok(())
    }

    fn play(&mut self, left: Remaining, now: Instant) {
        if self.graph == GraphState::Ready && self.is_watched() {
            self.start(Some(left), now);
        } else {
            self.run = Run::Paused { auto: true, left: Some(left) };
            self.publish(now);
        }
    }

    fn change_settings(
        &mut self,
        patch: &Map<String, Value>,
        now: Instant,
    ) -> Result<(), EngineError> {
        self.settings.apply(patch)?;
        self.checkpoints.note_change(false);
        let time = self.settings.play;
        if patch.contains_key("play") {
            if time == 0 {
                self.stop(Run::Settled, "", now);
            } else {
                self.play(Remaining::Play(time), now);
            }
        } else if matches!(self.run, Run::Settled | Run::Stopped) && time > 0 {
            // A knob that is turned should show what it does.
            self.play(Remaining::Play(time), now);
        }
        self.publish(now);
        Ok(())
    }

    fn change_pins(&mut self, pins: &[(u32, Option<[f32; 2]>)]) -> Result<(), EngineError> {
        let Some(graph) = self.broadcast.graph() else {
            return Err(EngineError::NotLoaded(self.id.clone()));
        };
        for (node, at) in pins {
            if *node >= graph.node_count {
                let (index, count) = (*node, graph.node_count);
                return Err(EngineError::Index { what: "node", index, count });
            }
            let is_place = |at: &[f32; 2]| at.iter().all(|x| x.is_finite() && x.abs() <= 1e15);
            if let Some(at) = at.filter(|at| !is_place(at)) {
                return Err(EngineError::Setting {
                    name: "pin".to_owned(),
                    value: format!("{at:?}"),
                    expected: "expected two coordinates from -1e15 to 1e15",
                });
            }
        }
        // A dragged node sends many places; only the last one counts.
        let moved: BTreeMap<u32, Option<[f32; 2]>> = pins.iter().copied().collect();
        let others = |change: &PinChange| match change {
            PinChange::Pin { node, .. } | PinChange::Unpin { node } => !moved.contains_key(node),
        };
        let kept = self.pin_changes.iter().filter(|change| others(change)).count();
        if kept + moved.len() > limits::PINS_MAX {
            return Err(EngineError::Busy { what: "pins", limit: limits::PINS_MAX });
        }
        self.pin_changes.retain(others);
        self.pin_changes.extend(moved.into_iter().map(|(node, at)| match at {
            Some(at) => PinChange::Pin { node, at },
            None => PinChange::Unpin { node },
        }));
        Ok(())
    }
}
