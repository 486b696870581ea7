//! Paths that communities move along while they merge, for the bounds of [`walktrap`](super::walktrap): sets that
//! become one (Tarjan 1975), each with the length of its path.

/// How far each community has moved since the beginning, at most, and which one it is a part of.
pub(super) struct Paths {
    into: Vec<u32>,
    /// The length of its path; where it is a part of another, less the length of that one's path.
    length: Vec<f64>,
}

impl Paths {
    pub(super) fn new(n: usize) -> Self {
        Self { into: (0..n as u32).collect(), length: vec![0.0; n] }
    }

    /// What `c` is a part of now, and the length of the path of `c` up to now.
    pub(super) fn of(&mut self, c: u32) -> (u32, f64) {
        let into = self.into[c as usize];
        let beyond = self.into[into as usize];
        if into == c {
            return (c, self.length[c as usize]);
        }
        if beyond != into {
            let (root, length) = self.of(into);
            // The length of `into` before its own root's is counted.
            self.length[c as usize] += length - self.length[root as usize];
            self.into[c as usize] = root;
        }
        let root = self.into[c as usize];
        (root, self.length[c as usize] + self.length[root as usize])
    }

    /// `b` becomes a part of `a`; each moves as far as told.
    pub(super) fn join(&mut self, a: usize, b: usize, a_moves: f64, b_moves: f64) {
        self.length[a] += a_moves;
        self.length[b] += b_moves - self.length[a];
        self.into[b] = a as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_goes_the_way_of_the_whole() {
        let mut paths = Paths::new(4);
        paths.join(0, 1, 0.5, 2.0);
        assert_eq!((paths.of(0), paths.of(1)), ((0, 0.5), (0, 2.0)));
        paths.join(2, 0, 1.0, 4.0);
        assert_eq!((paths.of(2), paths.of(0), paths.of(1)), ((2, 1.0), (2, 4.5), (2, 6.0)));
        paths.join(2, 3, 0.25, 8.0);
        assert_eq!((paths.of(1), paths.of(3)), ((2, 6.25), (2, 8.0)));
    }
}
