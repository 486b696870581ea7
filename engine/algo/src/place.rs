//! The place where an answer was computed.

/// Where an answer was computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ComputedOn {
    /// On the CPU, where there is no GPU.
    #[default]
    Cpu,
    /// On the CPU although there is a GPU, and why.
    CpuBecause(String),
    /// On the GPU of this name.
    Gpu(String),
}

impl ComputedOn {
    /// What an answer says of it; nothing where there is no choice.
    #[must_use]
    pub fn describe(&self, algorithm: &str) -> Option<String> {
        match self {
            Self::Cpu => None,
            Self::CpuBecause(why) => Some(format!("{algorithm} was computed on the CPU: {why}")),
            Self::Gpu(name) => Some(format!("{algorithm} was computed on the GPU ({name})")),
        }
    }
}
