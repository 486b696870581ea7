//! Paths while they grow: their elements by step, and the edges that each has used.

/// Paths so far, column by column: the element of each step for every path.
pub(super) struct Paths {
    pub(super) steps: Vec<Vec<u32>>,
    /// Last edge of each path in [`Trails`].
    pub(super) last: Vec<u32>,
}

/// The edges that paths have used, as linked lists that share their beginnings.
#[derive(Default)]
pub(super) struct Trails(pub(super) Vec<(u32, u32)>);

impl Trails {
    /// No edge yet.
    pub(super) const NONE: u32 = u32::MAX;

    /// A trail that goes on with an edge.
    pub(super) fn then(&mut self, trail: u32, edge: u32) -> u32 {
        self.0.push((edge, trail));
        self.0.len() as u32 - 1
    }

    /// Whether the trail has used an edge.
    pub(super) fn has(&self, mut trail: u32, edge: u32) -> bool {
        while let Some((used, before)) = self.0.get(trail as usize) {
            if *used == edge {
                return true;
            }
            trail = *before;
        }
        false
    }
}

impl Paths {
    pub(super) fn len(&self) -> usize {
        self.steps.first().map_or(0, Vec::len)
    }

    /// The paths that continue with new elements: `from[i]` is the path that row `i` continues.
    pub(super) fn continued(
        self,
        from: &[u32],
        added: Vec<Vec<u32>>,
        last: Option<Vec<u32>>,
    ) -> Self {
        let pick =
            |column: Vec<u32>| from.iter().map(|i| column[*i as usize]).collect::<Vec<u32>>();
        let last = last.unwrap_or_else(|| pick(self.last));
        let mut steps: Vec<Vec<u32>> = self.steps.into_iter().map(pick).collect();
        steps.extend(added);
        Self { steps, last }
    }
}
