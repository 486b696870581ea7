//! Components and cores.

pub mod articulation;
pub mod core_number;
pub mod cores;
pub mod strong;
pub mod weak;
