//! Nodes that are so far from the others that the page's first view leaves them out.

use std::fmt::Write as _;

use graphlume_types::{Notice, note};

use crate::bind::Cx;
use crate::labels::Labels;

/// How many times as far from most nodes as these are from one another a node may be and still be in the first view;
/// `givenBox` of the page has the same rule.
const WHOLE_MAX: f32 = 10.0;
/// Positions that the box of most nodes is found by.
const SAMPLE_MAX: usize = 20_000;
/// Share of the sample that is left out on each side of that box.
const CUT: f64 = 0.002;
/// Nodes that are named.
const NAMED_MAX: usize = 5;

/// Says which nodes the first view leaves out.
pub(crate) fn tell_far(cx: &mut Cx<'_>, places: &[[f32; 2]]) {
    let far = far(places);
    let Some(first) = far.first() else { return };
    let labels = Labels::new(cx);
    let mut names = format!("{:?}", labels.short(*first));
    for v in far[1..].iter().take(NAMED_MAX - 1) {
        let _ = write!(names, ", {:?}", labels.short(*v));
    }
    if far.len() > NAMED_MAX {
        names.push_str(" and others");
    }
    let (count, all) = (far.len() as u64, places.len());
    let text = format!(
        "{count} of {all} nodes are more than {WHOLE_MAX} times as far out as the others are apart, so that the first \
         view leaves them out: {names}; search for a name to go there, or mend the position"
    );
    note(&mut cx.notices, Notice::new("nodes-far-out", text).about(count));
}

/// The nodes beyond the reach of most others, by index.
fn far(places: &[[f32; 2]]) -> Vec<u32> {
    let placed = |at: &&[f32; 2]| at.iter().all(|x| x.is_finite());
    let sampled = || places.iter().step_by((places.len() / SAMPLE_MAX).max(1)).filter(placed);
    let core = |c: usize| -> Option<[f32; 2]> {
        let mut axis: Vec<f32> = sampled().map(|at| at[c]).collect();
        axis.sort_unstable_by(f32::total_cmp);
        // Of three nodes none can be told to be the odd one.
        let cut = if axis.len() < 4 { 0 } else { ((CUT * axis.len() as f64) as usize).max(1) };
        Some([*axis.get(cut)?, axis[axis.len() - 1 - cut]])
    };
    let Some(core) = core(0).zip(core(1)).map(|(x, y)| [x, y]) else { return Vec::new() };
    let reach = WHOLE_MAX * (core[0][1] - core[0][0]).max(core[1][1] - core[1][0]);
    if reach <= 0.0 {
        return Vec::new();
    }
    let is_far =
        |at: &[f32; 2]| (0..2).any(|c| at[c] < core[c][0] - reach || at[c] > core[c][1] + reach);
    (0..).zip(places).filter(|(_, at)| placed(at) && is_far(at)).map(|(v, _)| v).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wild_node_is_far_and_the_root_of_a_tree_is_not() {
        let ring: Vec<[f32; 2]> =
            (0_u8..60).map(|v| [f32::from(v).cos(), f32::from(v).sin()]).collect();
        assert!(far(&ring).is_empty());
        let with = |at: [f32; 2]| [ring.clone(), vec![at]].concat();
        assert_eq!(far(&with([1e30, 0.0])), [60]);
        assert_eq!(far(&with([0.0, -40.0])), [60]);
        assert!(far(&with([0.0, 9.0])).is_empty());
        assert!(far(&with([f32::NAN; 2])).is_empty());
        assert!(far(&[[0.0, 0.0], [1.0, 0.0], [1e9, 0.0]]).is_empty(), "nobody is the odd one");
        assert!(far(&[[2.0, 2.0]; 9]).is_empty() && far(&[]).is_empty());
    }
}
