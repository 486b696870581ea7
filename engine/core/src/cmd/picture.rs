//! The picture of a session, drawn here instead of in a browser.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_raster::{Drawing, Settings};
use graphlume_scene::wire::{self, Decoded, colors_of, sizes_of};
use graphlume_types::CancelToken;

use crate::cmd::read::{check_epoch, read_dataset};
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::frames::SceneFrames;
use crate::residency::Lease;
use crate::target::Target;

/// Asks for a picture of what a session shows, with positions that were asked for before.
pub(crate) struct Picture {
    pub(crate) target: Target,
    pub(crate) epoch: u32,
    /// An exact frame.
    pub(crate) positions: Bytes,
    pub(crate) settings: Settings,
}

impl Apply for Picture {
    type Answer = Bytes;
    type On = Engine;
    const PRIORITY: CommandPriority = CommandPriority::Batch;

    fn apply(self, engine: &mut Engine, call: Call<Bytes>) {
        let Self { target, epoch, positions, settings } = self;
        let found = engine.sessions.target(&target).and_then(|session| {
            let scene = session.broadcast.scene();
            let missing = || EngineError::NotLoaded(session.id.clone());
            Ok((session.dataset, scene.ok_or_else(missing)?))
        });
        match found {
            Ok((dataset, scene)) => {
                read_dataset(engine, "picture", dataset, call, move |lease, cancel| {
                    check_epoch(epoch, lease.facts.epoch)?;
                    check_epoch(epoch, scene.epoch)?;
                    drawn(lease, &scene, &positions, &settings, cancel)
                })
            }
            Err(e) => call.reply.send(Err(e)),
        }
    }
}

/// Draws what the frames say; on a reader, inside the CPU pool.
fn drawn(
    lease: &Lease,
    scene: &Arc<SceneFrames>,
    positions: &[u8],
    settings: &Settings,
    cancel: &CancelToken,
) -> Result<Bytes, EngineError> {
    let frame = wire::decode(positions).map_err(|e| EngineError::from_coded(&e))?;
    let Decoded::F32(positions) = frame.payload else { return Err(EngineError::Dropped) };
    let node_rgba = colors_of(&scene.node_color);
    let edge_rgba = scene.edge_color.as_ref().map(|frame| colors_of(frame));
    let stream = lease.edge_stream();
    let ends: Vec<[u32; 2]> = stream
        .as_chunks::<8>()
        .0
        .iter()
        .map(|pair| {
            let [a, b, c, d, e, f, g, h] = *pair;
            [u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])]
        })
        .collect();
    let drawing = Drawing {
        positions: &positions,
        node_rgba: &node_rgba,
        node_size: sizes_of(&scene.node_size),
        ends: &ends,
        edge_rgba: edge_rgba.as_deref(),
        edge_width: scene.edge_size.as_ref().map(|frame| sizes_of(frame)),
        is_given: lease.facts.has_positions,
    };
    let png = graphlume_raster::png(&drawing, settings, cancel);
    Ok(png.map_err(|e| EngineError::from_coded(&e))?.into())
}
