//! The tree that is drawn: the breadth-first search from the roots, with nodes that are not shown where there are several.

use graphlume_types::CancelToken;

use crate::AlgoError;
use crate::view::GraphView;

/// Nodes between two looks at the token.
const LOOK: usize = 1 << 15;

/// A tree in breadth-first order, in which the children of a node stand together, ascending by index.
#[derive(Debug)]
pub(super) struct Tree {
    /// Nodes, each after its parent. Those from the number of nodes of the graph on are not shown.
    pub(super) order: Vec<u32>,
    /// By place in `order`: the place of the parent; the root's own.
    pub(super) parent: Vec<u32>,
}

impl Tree {
    /// The tree of the breadth-first search along the arcs of `view`. Several roots hang on a node that is not shown, each
    /// as many levels lower as `levels` says; what is not reached hangs on the root, each node by itself.
    pub(super) fn new(
        view: &GraphView<'_>,
        roots: &[u32],
        levels: &[u32],
        cancel: &CancelToken,
    ) -> Result<Self, AlgoError> {
        let n = view.num_nodes();
        let mut tops: Vec<u32> = Vec::with_capacity(roots.len());
        // Of each node that is not shown the one below it.
        let mut below: Vec<u32> = Vec::new();
        for (i, root) in roots.iter().enumerate() {
            let mut top = *root;
            for _ in 0..levels.get(i).copied().unwrap_or(0) {
                below.push(top);
                top = n + below.len() as u32 - 1;
            }
            tops.push(top);
        }
        let root = if tops.len() == 1 { tops[0] } else { n + below.len() as u32 };
        if tops.len() == 1 {
            tops.clear();
        }
        let reached = reach(view, root, &tops, &below, cancel)?;
        tops.extend((0..n).filter(|v| !reached[*v as usize]));
        Self::search(view, root, tops, &below, cancel)
    }

    /// The search from `root`, on which `tops` hang besides what its edges lead to.
    fn search(
        view: &GraphView<'_>,
        root: u32,
        mut tops: Vec<u32>,
        below: &[u32],
        cancel: &CancelToken,
    ) -> Result<Self, AlgoError> {
        let n = view.num_nodes();
        let size = n as usize + below.len() + 1;
        let mut met = vec![false; size];
        let (mut order, mut parent) = (Vec::with_capacity(size), Vec::with_capacity(size));
        if root < n {
            tops.extend_from_slice(view.out().neighbors(root));
        }
        tops.sort_unstable();
        met[root as usize] = true;
        order.push(root);
        parent.push(0);
        let mut at = 0;
        while let Some(v) = order.get(at).copied() {
            if at.is_multiple_of(LOOK) {
                cancel.check()?;
            }
            let children = if at == 0 { &tops[..] } else { children(view, v, below) };
            for u in children {
                if !met[*u as usize] {
                    met[*u as usize] = true;
                    order.push(*u);
                    parent.push(at as u32);
                }
            }
            at += 1;
        }
        Ok(Self { order, parent })
    }
}

/// The nodes that `v` leads to.
fn children<'a>(view: &'a GraphView<'_>, v: u32, below: &'a [u32]) -> &'a [u32] {
    match v.checked_sub(view.num_nodes()) {
        Some(hidden) => std::slice::from_ref(&below[hidden as usize]),
        None => view.out().neighbors(v),
    }
}

/// The nodes of the graph that are reached from `root`, on which `tops` hang.
fn reach(
    view: &GraphView<'_>,
    root: u32,
    tops: &[u32],
    below: &[u32],
    cancel: &CancelToken,
) -> Result<Vec<bool>, AlgoError> {
    let n = view.num_nodes();
    let mut reached = vec![false; n as usize + below.len() + 1];
    let mut stack = tops.to_vec();
    if root < n {
        stack.push(root);
    }
    stack.iter().for_each(|v| reached[*v as usize] = true);
    let mut steps = 0usize;
    while let Some(v) = stack.pop() {
        if steps.is_multiple_of(LOOK) {
            cancel.check()?;
        }
        steps += 1;
        for u in children(view, v, below) {
            if !reached[*u as usize] {
                reached[*u as usize] = true;
                stack.push(*u);
            }
        }
    }
    Ok(reached)
}
