//! Generated sample graphs. Counter-based numbers: the same graph on every machine.

use std::fmt::Write as _;

use graphlume_types::hash::{h64, unit_f64};

use super::Csv;

const SEED: u64 = 20_260_101;

/// A stream of random numbers.
struct Dice {
    stream: u64,
    next: u64,
}

impl Dice {
    const fn new(stream: u64) -> Self {
        Self { stream, next: 0 }
    }

    /// Uniform in `0..n`.
    fn below(&mut self, n: usize) -> usize {
        self.next += 1;
        let wide = u128::from(h64(SEED, self.stream, self.next)) * (n as u128);
        usize::try_from(wide >> 64).unwrap_or(0)
    }

    /// Uniform in `[0, 1)`.
    fn unit(&mut self) -> f64 {
        self.next += 1;
        unit_f64(SEED, self.stream, self.next)
    }
}

const REGIONS: [&str; 9] =
    ["North", "Harbour", "Old Town", "Valley", "Lakeside", "Heights", "Market", "Garden", "Mills"];

/// Groups within regions. Inside a group newcomers befriend who is already well known (Barabási and
/// Albert 1999); groups of a region share some members' friendships; few ties lead to other regions.
pub(super) fn world() -> Csv {
    let mut dice = Dice::new(1);
    let mut edges = String::from("src,dst,weight,tie\n");
    let mut nodes = String::from("id,name,group,region\n");
    let mut groups: Vec<Vec<Vec<usize>>> = Vec::new();
    let mut total = 0usize;
    for region in REGIONS {
        let mut of_region = Vec::new();
        for g in 0..9 + dice.below(8) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "below 600"
            )]
            let size = (40.0 * (1.0 - dice.unit()).powf(-0.75)).min(600.0) as usize;
            let members: Vec<usize> = (total..total + size).collect();
            for &id in &members {
                let _ = writeln!(nodes, "{id},{},{region} {},{region}", person(id), g + 1);
            }
            grow(&members, &mut dice, &mut edges);
            total += size;
            of_region.push(members);
        }
        groups.push(of_region);
    }
    for (r, of_region) in groups.iter().enumerate() {
        let of_others: Vec<&Vec<usize>> =
            groups.iter().enumerate().filter(|(o, _)| *o != r).flat_map(|(_, g)| g).collect();
        for members in of_region {
            for _ in 0..members.len() / 5 {
                let other = &of_region[dice.below(of_region.len())];
                tie(members, other, "neighbour", &mut dice, &mut edges);
            }
            for _ in 0..members.len() / 40 + 1 {
                let other = of_others[dice.below(of_others.len())];
                tie(members, other, "traveller", &mut dice, &mut edges);
            }
        }
    }
    Csv { edges, nodes: Some(nodes) }
}

/// Preferential attachment: each newcomer meets two to four of those already there.
fn grow(members: &[usize], dice: &mut Dice, edges: &mut String) {
    // Everybody is in the urn once per friendship, so that drawing from it prefers the well known.
    let mut urn = vec![members[0]];
    for (i, &newcomer) in members.iter().enumerate().skip(1) {
        let mut met: Vec<usize> = Vec::with_capacity(4);
        for _ in 0..(2 + dice.below(3)).min(i) {
            let friend = urn[dice.below(urn.len())];
            if !met.contains(&friend) {
                met.push(friend);
                let _ = writeln!(edges, "{newcomer},{friend},{},friend", 1 + dice.below(9));
            }
        }
        urn.push(newcomer);
        urn.extend(met.iter().copied().chain(met.iter().map(|_| newcomer)));
    }
}

/// One friendship between two groups; early members, who are well known, are likelier.
fn tie(a: &[usize], b: &[usize], kind: &str, dice: &mut Dice, edges: &mut String) {
    let pick = |of: &[usize], dice: &mut Dice| {
        let (x, y) = (dice.below(of.len()), dice.below(of.len()));
        of[x.min(y)]
    };
    let (from, to) = (pick(a, dice), pick(b, dice));
    if from != to {
        let _ = writeln!(edges, "{from},{to},1,{kind}");
    }
}

/// A pronounceable name.
fn person(id: usize) -> String {
    const FIRST: [&str; 16] = [
        "Ma", "Lo", "Ri", "Te", "Na", "So", "Ka", "Vi", "Be", "Ju", "El", "Da", "Mi", "Ro", "Ha",
        "Lu",
    ];
    const LAST: [&str; 16] = [
        "ra", "nia", "lo", "mir", "ten", "vo", "lia", "rin", "sa", "go", "dan", "ne", "bel", "tor",
        "wen", "ki",
    ];
    let h = h64(SEED, 9, id as u64);
    let at = |shift: u32| usize::try_from(h >> shift & 15).unwrap_or(0);
    format!("{}{} {}{}{}", FIRST[at(0)], LAST[at(4)], FIRST[at(8)], LAST[at(12)], LAST[at(16)])
}

/// Overlapping circles: everybody is in one to three, and knows many of those in them.
pub(super) fn circles() -> Csv {
    const PEOPLE: usize = 1_500;
    const CIRCLES: usize = 60;
    let mut dice = Dice::new(2);
    let mut of_circle: Vec<Vec<usize>> = vec![Vec::new(); CIRCLES];
    for person in 0..PEOPLE {
        let home = person * CIRCLES / PEOPLE;
        of_circle[home].push(person);
        for _ in 0..dice.below(3) {
            // Mostly circles close by, so that the whole keeps a shape.
            let reach = if dice.below(8) == 0 { CIRCLES - 1 } else { 3 };
            let step = 1 + dice.below(reach);
            of_circle[(home + step) % CIRCLES].push(person);
        }
    }
    let mut seen = std::collections::HashSet::new();
    let mut edges = String::from("src,dst\n");
    for members in &of_circle {
        for (i, &a) in members.iter().enumerate() {
            for &b in &members[i + 1..] {
                if a != b && dice.below(5) == 0 && seen.insert((a.min(b), a.max(b))) {
                    let _ = writeln!(edges, "user{a},user{b}");
                }
            }
        }
    }
    Csv { edges, nodes: None }
}

/// Everybody follows a few accounts, mostly those that many follow (Price 1976).
pub(super) fn followers() -> Csv {
    const ACCOUNTS: usize = 3_000;
    let mut dice = Dice::new(3);
    let mut urn: Vec<usize> = (0..8).collect();
    let mut edges = String::from("src,dst\n");
    for account in 8..ACCOUNTS {
        let mut follows: Vec<usize> = Vec::with_capacity(6);
        for _ in 0..1 + dice.below(5) {
            let popular = dice.below(10) < 8;
            let target = if popular { urn[dice.below(urn.len())] } else { dice.below(account) };
            if !follows.contains(&target) {
                follows.push(target);
                let _ = writeln!(edges, "@{account},@{target}");
            }
        }
        urn.append(&mut follows);
        urn.push(account);
    }
    Csv { edges, nodes: None }
}
