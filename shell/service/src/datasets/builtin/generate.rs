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

/// Groups of each region; sizes of all groups follow a power law over these and the regions.
const GROUPS_PER_REGION: usize = 4;
/// People of the largest group.
const LARGEST_GROUP: f64 = 2_200.0;

/// Groups within regions. Inside a group newcomers befriend who is already well known (Barabási and
/// Albert 1999) or a friend's friend; some people know others in their region, and fewer elsewhere.
pub(super) fn world() -> Csv {
    let mut dice = Dice::new(1);
    let mut edges = String::from("src,dst,weight,tie\n");
    let mut nodes = String::from("id,name,group,region\n");
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut total = 0usize;
    for g in 0..REGIONS.len() * GROUPS_PER_REGION {
        // The largest groups are spread over the regions.
        let region = REGIONS[g % REGIONS.len()];
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a small positive number"
        )]
        let size =
            (LARGEST_GROUP * (g as f64 + 1.0).powf(-0.8) * (0.85 + 0.3 * dice.unit())) as usize;
        let members: Vec<usize> = (total..total + size).collect();
        for &id in &members {
            let number = g / REGIONS.len() + 1;
            let _ = writeln!(nodes, "{id},{},{region} {number},{region}", person(id));
        }
        grow(&members, &mut dice, &mut edges);
        total += size;
        groups.push(members);
    }
    for (g, members) in groups.iter().enumerate() {
        for _ in 0..members.len() / 4 {
            let other =
                (g + REGIONS.len() * (1 + dice.below(GROUPS_PER_REGION - 1))) % groups.len();
            tie(members, &groups[other], "neighbour", &mut dice, &mut edges);
        }
        for _ in 0..members.len() / 6 {
            let other = (g + 1 + dice.below(groups.len() - 1)) % groups.len();
            tie(members, &groups[other], "traveller", &mut dice, &mut edges);
        }
    }
    Csv { edges, nodes: Some(nodes) }
}

/// Preferential attachment with closure: each newcomer meets one to five of those already there, the
/// first by fame, the others by fame or among the friends of the first.
fn grow(members: &[usize], dice: &mut Dice, edges: &mut String) {
    // Every member is in the urn once per friendship, so that drawing from it prefers the well known.
    let mut urn = vec![0usize];
    let mut friends: Vec<Vec<usize>> = vec![Vec::new(); members.len()];
    for newcomer in 1..members.len() {
        let first = urn[dice.below(urn.len())];
        let mut met = vec![first];
        let more = [0, 0, 0, 1, 1, 2, 2, 3, 4][dice.below(9)];
        for _ in 0..more {
            let around = &friends[first];
            let friend = if !around.is_empty() && dice.below(3) > 0 {
                around[dice.below(around.len())]
            } else {
                urn[dice.below(urn.len())]
            };
            if !met.contains(&friend) {
                met.push(friend);
            }
        }
        urn.push(newcomer);
        for friend in met {
            let _ = writeln!(
                edges,
                "{},{},{},friend",
                members[newcomer],
                members[friend],
                1 + dice.below(3)
            );
            friends[newcomer].push(friend);
            friends[friend].push(newcomer);
            urn.extend([friend, newcomer]);
        }
    }
}

/// One friendship between two groups; early members, who are well known, are not likelier than others,
/// or the groups' hubs would be drawn to the middle.
fn tie(a: &[usize], b: &[usize], kind: &str, dice: &mut Dice, edges: &mut String) {
    let (from, to) = (a[dice.below(a.len())], b[dice.below(b.len())]);
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

/// Overlapping circles: every member is in one to three, and knows many of those in them.
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

/// Every account follows a few accounts, mostly those that many follow (Price 1976).
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
