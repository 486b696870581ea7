//! Painted elements: their colours, and the legend that explains these.

use rayon::prelude::*;
use serde_json::Value;

use crate::collection::Bits;
use crate::css::Rgba;
use crate::mapping::NONE;

/// Colours of elements with the legend that explains them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Painted {
    pub(crate) rgba: Vec<Rgba>,
    /// As [`Scene::node_chosen`](crate::Scene::node_chosen), of the elements that were painted.
    pub(crate) chosen: Bits,
    pub(crate) legend: Value,
    /// Which entry of the legend each element has, where the legend lists values of a column.
    pub(crate) listed: Option<Listed>,
}

/// The classes of elements, and which of them a legend lists.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Listed {
    /// Per element its class, or [`NONE`].
    pub(crate) codes: Vec<u32>,
    /// The classes of the entries, in their order.
    pub(crate) classes: Vec<u32>,
    /// The entry of all classes that are not listed, and that of elements without a class; [`NONE`] where there is none.
    pub(crate) rest: [u32; 2],
}

impl Listed {
    /// Per element its entry, or [`NONE`].
    pub(crate) fn entries(&self) -> Vec<u32> {
        let [other, without] = self.rest;
        let known =
            self.codes.iter().copied().filter(|c| *c != NONE).max().map_or(0, |c| c as usize + 1);
        let mut entry = vec![other; known];
        for (at, class) in self.classes.iter().enumerate() {
            if let Some(entry) = entry.get_mut(*class as usize) {
                *entry = at as u32;
            }
        }
        let of = |c: &u32| entry.get(*c as usize).copied().unwrap_or(without);
        self.codes.par_iter().with_min_len(1 << 13).map(of).collect()
    }
}
