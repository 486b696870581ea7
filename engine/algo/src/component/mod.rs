//! Components and cores.

pub mod core_number;
pub mod weak;
