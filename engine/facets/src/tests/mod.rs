//! Masks, filters and histograms beside what a look at each element says.

mod filters;
mod histograms;
mod kit;
mod naive;
mod rules;
