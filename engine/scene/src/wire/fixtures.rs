//! Golden frames, shared with the page's tests: `shell/web/tests/fixtures/*.bin` hold what this encoder
//! makes, and `frames.json` what a decoder must read from them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::{Anchor, Bits, IconLayer};

/// From the crate's folder, where cargo runs tests. A path that is compiled in may be of another checkout, whose
/// target folder this one shares.
fn folder() -> PathBuf {
    PathBuf::from("../../shell/web/tests/fixtures")
}

fn positions(tick: f32) -> Vec<[f32; 2]> {
    let mut all: Vec<[f32; 2]> = (0..200)
        .map(|i| {
            let t = i as f32;
            [(t * 37.0) % 101.0 - 50.0 + tick * ((t * 7.0) % 11.0 - 5.0) * 0.02, t - 100.0]
        })
        .collect();
    all[3] = [f32::NAN, f32::NAN];
    all
}

/// Positions of a list of frames, as numbers with `null` for absent ones.
fn seen(frames: &[&Bytes]) -> Value {
    let mut viewer = Viewer::default();
    for frame in frames {
        viewer.apply(frame).unwrap();
    }
    let number = |v: &f32| if v.is_nan() { Value::Null } else { json!(v) };
    viewer.positions.iter().map(|p| p.iter().map(number).collect::<Value>()).collect()
}

fn header(frame: &Bytes) -> Value {
    let h = Header::parse(frame).unwrap();
    let Bounds { x0, y0, sx, sy } = h.bounds;
    json!({
        "kind": h.kind as u8, "flags": h.flags, "epoch": h.epoch, "seq": h.seq,
        "base_seq": h.base_seq, "first": h.first, "count": h.count, "stride": h.stride,
        "x0": x0, "y0": y0, "sx": sx, "sy": sy,
    })
}

fn icons(
    stamp: Stamp,
    name: &'static str,
    axis: Axis,
    place: Anchor,
    shown: &[u16],
) -> (&'static str, Bytes, Value) {
    let look =
        json!({"title": "kůň", "list": [{"glyph": "\u{f007}"}, {"text": "🐎", "bg": "#ff0000"}]});
    let layer = IconLayer { axis, place, shown: shown.to_vec(), look: look.clone() };
    let seen = json!({"axis": axis as u8, "place": place as u8, "shown": shown, "look": look});
    (name, encode_icons(stamp, &layer, shown), seen)
}

/// Colours of nodes of which the second was chosen.
fn chosen_colors(stamp: Stamp, rgba: &[[u8; 4]]) -> (&'static str, Bytes, Value) {
    let frame = encode_node_colors(stamp, rgba, &Bits::new(rgba.len() as u32, &[1]));
    ("color_chosen", frame, json!({"axis": 0, "rgba": rgba, "chosen": [1]}))
}

/// Colours of edges.
fn edge_colors(stamp: Stamp, rgba: &[[u8; 4]]) -> (&'static str, Bytes, Value) {
    ("color_edges", encode_color(stamp, Axis::Edge, rgba), json!({"axis": 1, "rgba": rgba}))
}

/// Every fixture: its name, its bytes, and the members that its entry has beside the header.
fn all() -> Vec<(&'static str, Bytes, Value)> {
    let stamp = Stamp { epoch: 2, seq: 40, flags: flags::RUNNING };
    let mut encoder = PositionEncoder::new(2, false);
    let key = encoder.encode(&positions(0.0), 40, flags::RUNNING).key;
    let near = encoder.encode(&positions(1.0), 41, flags::RUNNING).delta.unwrap();
    let mut far: Vec<[f32; 2]> = positions(0.0).iter().map(|p| [p[0] * 0.9, p[1]]).collect();
    far[3] = [10.0, 20.0];
    far[9] = [f32::NAN, f32::NAN];
    let far = encoder.encode(&far, 42, flags::SETTLED).delta.unwrap();
    let packed = deflated(&near);
    assert_ne!(packed, near, "the fixture must be compressed");
    let exact = encode_f32(stamp, &positions(0.0)[..8]);
    let list = encode_list(stamp, &[7, 1, 5], &[[1.0, 2.0], [3.0, -4.0], [2.0, 0.5]]);
    let stripe = encode_stripe(stamp, &Quantized::new(&positions(0.0)), 2, 8);
    let rgba = [[109, 185, 252, 255], [202, 93, 47, 128], [0, 0, 0, 0]];
    let texts = [(7, "alpha"), (0, "žluťoučký kůň 🐎"), (2, "")];
    let labels: Vec<(u32, String)> = texts.iter().map(|(i, t)| (*i, (*t).to_owned())).collect();
    let pairs = |frame: &Bytes| match decode(frame).unwrap().payload {
        Decoded::Key(pairs) => json!(pairs),
        Decoded::List(list) => json!(list.iter().map(|(_, q)| q).collect::<Vec<_>>()),
        other => panic!("{other:?} has no pairs"),
    };
    let (key_pairs, list_pairs, stripe_pairs) = (pairs(&key), pairs(&list), pairs(&stripe));
    let delta = |frame: &Bytes| {
        let Decoded::Delta { step, over, .. } = decode(frame).unwrap().payload else { panic!() };
        let over: Vec<Value> = over.iter().map(|(i, q)| json!([i, q[0], q[1]])).collect();
        json!({"step": step, "over": over, "key": "pos_key", "positions": seen(&[&key, frame])})
    };
    let (near_seen, far_seen, packed_seen) = (delta(&near), delta(&far), delta(&packed));
    let key_seen = json!({"pairs": key_pairs, "positions": seen(&[&key])});
    let exact_seen = json!({"positions": seen(&[&exact])});
    vec![
        ("pos_key", key, key_seen),
        ("pos_delta", near, near_seen),
        ("pos_delta_far", far, far_seen),
        ("pos_delta_deflate", packed, packed_seen),
        ("pos_f32", exact, exact_seen),
        ("pos_list", list, json!({"indices": [7, 1, 5], "pairs": list_pairs})),
        ("pos_stripe", stripe, json!({"pairs": stripe_pairs})),
        (
            "mask_nodes",
            encode_mask(stamp, Axis::Node, &Bits::new(11, &[0, 3, 8, 10]), 11),
            json!({"axis": 0, "visible": [0, 3, 8, 10]}),
        ),
        ("color_nodes", encode_color(stamp, Axis::Node, &rgba), json!({"axis": 0, "rgba": rgba})),
        chosen_colors(stamp, &rgba),
        edge_colors(stamp, &rgba[..1]),
        (
            "size_nodes",
            encode_size(stamp, Axis::Node, &[0, 8, 96, 255]),
            json!({"axis": 0, "sizes": [0, 8, 96, 255]}),
        ),
        ("labels", encode_labels(stamp, &labels), json!({"labels": texts})),
        (
            "groups",
            encode_groups(stamp, &[vec![0, 0, 1, NO_GROUP, 0], vec![0, 2, 1, NO_GROUP, 0]]),
            json!({"levels": [[0, 0, 1, 65535, 0], [0, 2, 1, 65535, 0]]}),
        ),
        (
            "depth",
            encode_depth(stamp, &[1.0, f32::NAN, -2.0, 4.0]),
            json!({"steps": [32767, 65535, 0, 65534]}),
        ),
        icons(stamp, "icons_nodes", Axis::Node, Anchor::Icon, &[1, 0, 2]),
        icons(stamp, "icons_edges", Axis::Edge, Anchor::TopLeft, &[2, 2, 1, 0, 1]),
    ]
}

/// The contents of `frames.json`: one entry per file, one line each so that changes can be read.
fn index() -> String {
    let entry = |(name, frame, extra): (&str, Bytes, Value)| {
        let mut entry = json!({"file": format!("{name}.bin"), "header": header(&frame)});
        for (k, v) in extra.as_object().unwrap() {
            entry[k] = v.clone();
        }
        format!("  {}: {entry}", json!(name))
    };
    let entries: Vec<String> = all().into_iter().map(entry).collect();
    format!("{{\n{}\n}}\n", entries.join(",\n"))
}

#[test]
fn the_committed_fixtures_are_what_the_encoder_makes() {
    let hint = "run `cargo test -p graphlume-scene -- --ignored write_fixtures`";
    for (name, frame, _) in all() {
        let stored = std::fs::read(folder().join(format!("{name}.bin"))).expect(hint);
        // Another version of the compressor may choose other bytes; their meaning must stay.
        if name.ends_with("_deflate") {
            assert_eq!(decode(&stored).unwrap(), decode(&frame).unwrap(), "{name}: {hint}");
        } else {
            assert_eq!(stored, frame, "{name}: {hint}");
        }
    }
    let stored: Value =
        serde_json::from_str(&std::fs::read_to_string(folder().join("frames.json")).expect(hint))
            .unwrap();
    // The whole would fill pages, so only the name of what differs is told.
    let wanted: Value = serde_json::from_str(&index()).unwrap();
    let names = |v: &Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&stored), names(&wanted), "{hint}");
    for name in names(&wanted) {
        assert!(stored[&name] == wanted[&name], "{name} of frames.json: {hint}");
    }
}

#[test]
fn the_far_fixture_uses_a_coarse_step_and_the_side_list() {
    let far = all().into_iter().find(|(name, ..)| *name == "pos_delta_far").unwrap();
    let Decoded::Delta { step, over, .. } = decode(&far.1).unwrap().payload else { panic!() };
    assert!(step > 1.0);
    assert_eq!(over.iter().map(|(i, _)| *i).collect::<Vec<_>>(), [3, 9]);
}

#[test]
#[ignore = "writes the fixtures instead of checking them"]
fn write_fixtures() {
    std::fs::create_dir_all(folder()).unwrap();
    for (name, frame, _) in all() {
        std::fs::write(folder().join(format!("{name}.bin")), frame).unwrap();
    }
    std::fs::write(folder().join("frames.json"), index()).unwrap();
}
