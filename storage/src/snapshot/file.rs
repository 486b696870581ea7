//! The file of one session's coordinates.
//!
//! ```text
//! magic  format  dataset  fingerprint  nodes  length of the notes  length of the session's name
//! name of the session   notes   nodes * (x, y)   in format 2: nodes * z   BLAKE3 of everything before
//! ```
//!
//! Format 1, in which nodes have no third coordinate, is written wherever they have none, so that servers which know no other read it, too.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use graphlume_types::{DatasetId, SessionId, limits};

use super::{Coordinates, Kept, SnapshotHead};
use crate::blob::BUFFER_BYTES;
use crate::vfs::{self, Vfs};

const MAGIC: [u8; 4] = *b"GLPS";
/// Nodes have x and y.
const FORMAT_PLANE: u32 = 1;
/// Nodes have x, y and z.
const FORMAT_SPACE: u32 = 2;
/// Bytes before the name of the session.
const HEAD_BYTES: usize = 44;
const HASH_BYTES: usize = 32;
/// Bytes of x and y.
const NODE_BYTES: usize = 8;
/// Bytes of z.
const DEPTH_BYTES: usize = 4;

/// Bytes of the file of a session.
pub(super) fn file_bytes(session: &SessionId, notes: u32, nodes: u32, is_space: bool) -> u64 {
    let fixed = HEAD_BYTES + HASH_BYTES + session.as_str().len();
    let node = NODE_BYTES + if is_space { DEPTH_BYTES } else { 0 };
    fixed as u64 + u64::from(notes) + u64::from(nodes) * node as u64
}

/// Writes the file; one that a crash has left under the name is replaced.
///
/// # Errors
/// Those of the file system; `InvalidInput` where there are not as many third coordinates as nodes.
pub(super) fn write(
    vfs: &dyn Vfs,
    path: &Path,
    head: &SnapshotHead,
    positions: &[[f32; 2]],
    depths: Option<&[f32]>,
) -> io::Result<()> {
    let count = |len: usize| u32::try_from(len).map_err(|_| io::ErrorKind::InvalidInput);
    let name = head.session.as_str().as_bytes();
    let (nodes, notes) = (count(positions.len())?, count(head.notes.len())?);
    if depths.is_some_and(|z| z.len() != positions.len()) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut file = match vfs.create(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            vfs.remove_file(path)?;
            vfs.create(path)?
        }
        made => made?,
    };
    let mut hasher = blake3::Hasher::new();
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    buffer.extend_from_slice(&MAGIC);
    let format = if depths.is_some() { FORMAT_SPACE } else { FORMAT_PLANE };
    buffer.extend_from_slice(&format.to_le_bytes());
    buffer.extend_from_slice(head.dataset.as_bytes());
    buffer.extend_from_slice(&head.fingerprint.to_le_bytes());
    buffer.extend_from_slice(&nodes.to_le_bytes());
    buffer.extend_from_slice(&notes.to_le_bytes());
    buffer.extend_from_slice(&count(name.len())?.to_le_bytes());
    buffer.extend_from_slice(name);
    buffer.extend_from_slice(&head.notes);
    let mut flush = |buffer: &mut Vec<u8>| {
        hasher.update(buffer);
        let done = vfs::write_all(vfs, &mut file, buffer);
        buffer.clear();
        done
    };
    for some in positions.as_flattened().chunks(BUFFER_BYTES / DEPTH_BYTES) {
        some.iter().for_each(|x| buffer.extend_from_slice(&x.to_le_bytes()));
        flush(&mut buffer)?;
    }
    for some in depths.unwrap_or_default().chunks(BUFFER_BYTES / DEPTH_BYTES) {
        some.iter().for_each(|z| buffer.extend_from_slice(&z.to_le_bytes()));
        flush(&mut buffer)?;
    }
    hasher.update(&buffer);
    buffer.extend_from_slice(hasher.finalize().as_bytes());
    vfs::write_all(vfs, &mut file, &buffer)
}

/// Reads as many numbers as there is room for and adds their bytes to what is hashed.
fn read_floats(file: &mut File, hasher: &mut blake3::Hasher, floats: &mut [f32]) -> io::Result<()> {
    let mut buffer = vec![0u8; BUFFER_BYTES.min(size_of_val(floats))];
    for some in floats.chunks_mut(BUFFER_BYTES / DEPTH_BYTES) {
        let bytes = &mut buffer[..size_of_val(some)];
        file.read_exact(bytes)?;
        hasher.update(bytes);
        for (float, bytes) in some.iter_mut().zip(bytes.as_chunks().0) {
            *float = f32::from_le_bytes(*bytes);
        }
    }
    Ok(())
}

/// Reads a file that may hold anything. Nothing is allocated before the head fits.
pub(super) fn read(
    file: &mut File,
    session: &SessionId,
    dataset: DatasetId,
    nodes: u32,
) -> io::Result<Kept> {
    let len = file.metadata()?.len();
    let mut head = [0u8; HEAD_BYTES];
    if len < HEAD_BYTES as u64 {
        return Ok(Kept::Unfit("it is too short"));
    }
    file.read_exact(&mut head)?;
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let is_space = word(4) == FORMAT_SPACE;
    if head[..4] != MAGIC || (word(4) != FORMAT_PLANE && !is_space) {
        return Ok(Kept::Unfit("it is of another format"));
    }
    if head[8..24] != *dataset.as_bytes() {
        return Ok(Kept::Unfit("it belongs to another dataset"));
    }
    let (own_nodes, notes_bytes, name_bytes) = (word(32), word(36), word(40));
    if own_nodes != nodes {
        return Ok(Kept::Unfit("the graph has another number of nodes"));
    }
    let is_whole = notes_bytes <= limits::SNAPSHOT_NOTES_BYTES_MAX
        && name_bytes as usize == session.as_str().len()
        && len == file_bytes(session, notes_bytes, nodes, is_space);
    if !is_whole {
        return Ok(Kept::Unfit("it has another length than it says"));
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(&head);
    let mut name = vec![0u8; name_bytes as usize];
    file.read_exact(&mut name)?;
    let mut notes = vec![0u8; notes_bytes as usize];
    file.read_exact(&mut notes)?;
    hasher.update(&name).update(&notes);
    let mut positions = vec![[0.0; 2]; nodes as usize];
    read_floats(file, &mut hasher, positions.as_flattened_mut())?;
    let mut depths = vec![0.0; if is_space { nodes as usize } else { 0 }];
    read_floats(file, &mut hasher, &mut depths)?;
    let depths = is_space.then(|| Arc::new(depths));
    let mut hash = [0u8; HASH_BYTES];
    file.read_exact(&mut hash)?;
    if hash != *hasher.finalize().as_bytes() {
        return Ok(Kept::Unfit("its checksum is wrong"));
    }
    if name != session.as_str().as_bytes() {
        return Ok(Kept::Unfit("it belongs to another session"));
    }
    let mut fingerprint = [0u8; 8];
    fingerprint.copy_from_slice(&head[24..32]);
    let fingerprint = u64::from_le_bytes(fingerprint);
    let head = SnapshotHead { session: session.clone(), dataset, fingerprint, notes };
    Ok(Kept::Positions(head, Coordinates { positions, depths }))
}
