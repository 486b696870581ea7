//! Position frames made on the GPU against the encoder of the stream.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use graphlume_algo::gpu::force_atlas2::OnDevice;
use graphlume_algo::gpu::frames::{GpuFrames, Steps, Survey};
use graphlume_device::cuda::{Buf, Gpu};
use graphlume_emu::gpu_test;
use graphlume_scene::wire::{Bounds, HEADER_BYTES, PositionEncoder};
use graphlume_types::hash::{h64, unit_f64};

/// Positions as a layout has them: in an order of its own.
struct Bodies {
    points: Buf<[f32; 2]>,
    body_of: Buf<u32>,
}

impl Bodies {
    fn new(gpu: &Gpu, positions: &[[f32; 2]]) -> Self {
        let mut nodes: Vec<u32> = (0..positions.len() as u32).collect();
        nodes.sort_by_key(|v| h64(1, 2, u64::from(*v)));
        let mut body_of = vec![0; nodes.len()];
        for (body, node) in nodes.iter().enumerate() {
            body_of[*node as usize] = body as u32;
        }
        let points: Vec<[f32; 2]> = nodes.iter().map(|v| positions[*v as usize]).collect();
        Self {
            points: gpu.upload("points", &points).unwrap(),
            body_of: gpu.upload("bodies", &body_of).unwrap(),
        }
    }

    fn on_device(&self) -> OnDevice<'_> {
        OnDevice { points: self.points.view(), body_of: self.body_of.view() }
    }
}

fn cloud(n: usize, stream: u64, side: f64) -> Vec<[f32; 2]> {
    let at = |k: u64, i: u64| ((unit_f64(8, stream + k, i) - 0.4) * side) as f32;
    (0..n as u64).map(|i| [at(0, i), at(1, i) * 2.0]).collect()
}

/// `share` of the nodes moved by up to `by` each way, within the box of `positions`.
fn moved(positions: &[[f32; 2]], stream: u64, share: f64, by: f32) -> Vec<[f32; 2]> {
    let corner = |f: fn(f32, f32) -> f32, k: usize| positions.iter().map(|p| p[k]).reduce(f);
    let limits = [0, 1].map(|k| (corner(f32::min, k).unwrap(), corner(f32::max, k).unwrap()));
    let noise = |k: u64, i: usize| unit_f64(8, 100 * stream + k, i as u64) as f32 - 0.5;
    let mut out = positions.to_vec();
    for (i, p) in out.iter_mut().enumerate() {
        if unit_f64(8, 100 * stream + 2, i as u64) < share {
            for k in 0..2 {
                p[k] = (p[k] + noise(k as u64, i) * by).clamp(limits[k].0, limits[k].1);
            }
        }
    }
    out
}

fn steps(b: Bounds) -> Steps {
    Steps { x0: b.x0, y0: b.y0, sx: b.sx, sy: b.sy }
}

/// Both encoders over the same frames: the first is a key frame on both sides.
fn compare(gpu: &Gpu, frames: &[Vec<[f32; 2]>]) -> Vec<bool> {
    let n = frames[0].len();
    let mut made = GpuFrames::new(gpu, n as u32).unwrap();
    let mut encoder = PositionEncoder::new(1, false);
    let mut is_delta = Vec::new();
    for (seq, positions) in frames.iter().enumerate() {
        let bodies = Bodies::new(gpu, positions);
        let want = encoder.encode(positions, seq as u32 + 1, 0);
        let delta = if seq == 0 { None } else { made.delta(bodies.on_device()).unwrap() };
        assert_eq!(delta.is_some(), want.delta.is_some(), "{n} nodes, frame {seq}");
        is_delta.push(delta.is_some());
        let got = match delta {
            Some(delta) => delta,
            None => made.key(bodies.on_device(), steps(Bounds::of(positions))).unwrap(),
        };
        let want = &want.delta.unwrap_or(want.key)[HEADER_BYTES..];
        assert!(got == want, "{n} nodes, frame {seq}: other bytes");
    }
    is_delta
}

#[test]
fn key_frames_and_deltas_are_the_encoders_bytes() {
    let kernels = ["frame_quantize", "frame_differences", "frame_delta", "frame_tiles"];
    gpu_test(&kernels, |gpu| {
        for n in [1, 2, 99, 1_024, 3_001, 9_000] {
            let start = cloud(n, 0, 800.0);
            let frames = vec![
                start.clone(),
                start.clone(),
                moved(&start, 1, 1.0, 0.3),
                moved(&start, 2, 1.0, 9.0),
                moved(&start, 3, 1.0, 90.0),
            ];
            let is_delta = compare(gpu, &frames);
            assert_eq!(is_delta, [false, true, true, true, true], "{n} nodes");
        }
    });
}

#[test]
fn the_few_that_jump_travel_in_the_side_list_and_many_need_a_key_frame() {
    gpu_test(&["frame_overflow", "frame_tiles"], |gpu| {
        let start = cloud(5_000, 0, 800.0);
        let mut few = moved(&start, 1, 0.004, 500.0);
        few[17] = [f32::NAN, 0.0];
        few[4_999] = [0.0, f32::INFINITY];
        let mut many = start.clone();
        for p in many.iter_mut().step_by(3) {
            *p = [f32::NAN; 2];
        }
        let is_delta = compare(gpu, &[start.clone(), few, many.clone(), start]);
        assert_eq!(is_delta, [false, true, false, false]);
        assert_eq!(compare(gpu, &[many.clone(), many]), [false, true]);
    });
}

#[test]
fn far_and_tiny_coordinates_are_quantised_alike() {
    gpu_test(&["frame_quantize"], |gpu| {
        let start = cloud(700, 5, 1.0);
        for scale in [1e-20f32, 1e-6, 1e12] {
            let scaled = |p: &Vec<[f32; 2]>| p.iter().map(|p| p.map(|v| v * scale)).collect();
            let next = moved(&start, 6, 1.0, 0.01);
            compare(gpu, &[scaled(&start), scaled(&next)]);
        }
        // Strays are moved to the border.
        let mut strays = start;
        strays[7] = [1e30, -1e30];
        compare(gpu, &[strays.clone(), strays]);
    });
}

#[test]
fn the_survey_has_the_box_and_the_sample_of_the_bounds() {
    gpu_test(&["frame_box", "frame_box_end", "frame_sample"], |gpu| {
        for n in [1, 300, 4_096, 4_097, 9_001] {
            let mut positions = cloud(n, 3, 50.0);
            if n > 300 {
                positions[n / 2] = [f32::NAN, 1e9];
                positions[n / 3] = [-1e9, f32::NEG_INFINITY];
            }
            let bodies = Bodies::new(gpu, &positions);
            let mut frames = GpuFrames::new(gpu, n as u32).unwrap();
            let Survey { bounds, sample } = frames.survey(bodies.on_device()).unwrap();
            let placed = positions.iter().filter(|p| p.iter().all(|v| v.is_finite()));
            let want = placed.fold([f32::MAX, f32::MAX, f32::MIN, f32::MIN], |b, p| {
                [b[0].min(p[0]), b[1].min(p[1]), b[2].max(p[0]), b[3].max(p[1])]
            });
            assert_eq!(bounds, Some(want));
            let bits = |p: &[f32; 2]| p.map(f32::to_bits);
            let got: Vec<_> = sample.iter().map(bits).collect();
            let want: Vec<_> = positions.iter().step_by(n.div_ceil(4_096)).map(bits).collect();
            assert!(got == want, "{n} nodes");
        }
        let nowhere = Bodies::new(gpu, &[[f32::NAN; 2]; 5]);
        let mut frames = GpuFrames::new(gpu, 5).unwrap();
        assert_eq!(frames.survey(nowhere.on_device()).unwrap().bounds, None);
    });
}

#[test]
fn frames_of_nothing_are_empty_and_a_delta_needs_a_key_frame() {
    gpu_test(&["frame_quantize"], |gpu| {
        let none = Bodies::new(gpu, &[]);
        let mut frames = GpuFrames::new(gpu, 0).unwrap();
        assert_eq!(frames.survey(none.on_device()).unwrap().sample.len(), 0);
        assert!(frames.key(none.on_device(), steps(Bounds::UNIT)).unwrap().is_empty());
        assert_eq!(frames.delta(none.on_device()).unwrap().map(|p| p.len()), Some(8));
        let one = Bodies::new(gpu, &[[1.0, 2.0]]);
        let before = gpu.budget().used();
        let mut frames = GpuFrames::new(gpu, 1).unwrap();
        assert!(gpu.budget().used() - before <= GpuFrames::footprint(1));
        assert_eq!(frames.delta(one.on_device()).unwrap(), None);
        frames.key(one.on_device(), steps(Bounds::UNIT)).unwrap();
    });
}
