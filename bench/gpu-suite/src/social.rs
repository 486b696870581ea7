//! Counts of paths over a social network: who follows whom, of what age, and where they live. The patterns are those of
//! the questions that Cypher counts instead of walking.

use graphlume_algo::gpu::relation::Relation;
use graphlume_algo::gpu::tally::{Count, Counted, Paths, PatternStep};
use graphlume_algo::gpu::tally_sums::{Cells as NumberCells, Numbers, Sums};
use graphlume_device::columns::{Cells, Compare, Device, DeviceColumn, Mask, Predicate, Value};
use graphlume_device::cuda::{Buf, Gpu, View};
use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use graphlume_types::hash::{h64, unit_f64};

use crate::error::SuiteError;
use crate::rows::{Out, REPEATS, Row, time};

/// Persons of the graph on which the GPU is compared with the CPU.
const CHECKED_PERSONS: u32 = 50_000;
/// Persons to each city, and whom each person follows on average.
const PERSONS_OF_CITY: u32 = 140;
const FOLLOWS: u32 = 28;
/// The least of all ages, that of cities.
const LEAST_AGE: i64 = -1;
/// First ends that are wanted.
const WANTED: u32 = 3;

/// The network in main memory. Cities come after the persons.
struct Network {
    persons: u32,
    num_nodes: u32,
    follows: Topology,
    follow_loops: Vec<(u32, u32)>,
    lives_in: Topology,
    /// Of each node; of cities it is none that a condition leaves.
    ages: Vec<i64>,
    kinds: Vec<u32>,
}

impl Network {
    fn new(persons: u32) -> Self {
        let cities = persons.div_ceil(PERSONS_OF_CITY).max(1);
        let num_nodes = persons + cities;
        let (mut src, mut dst) = (Vec::new(), Vec::new());
        for i in 0..u64::from(persons) * u64::from(FOLLOWS) {
            src.push((h64(21, 1, i) % u64::from(persons)) as u32);
            // Few are followed by many.
            let part = unit_f64(21, 2, i).powi(3);
            dst.push(((f64::from(persons) * part) as u32).min(persons - 1));
        }
        let mut follow_loops: Vec<(u32, u32)> = Vec::new();
        let mut own: Vec<u32> =
            src.iter().zip(&dst).filter(|(v, to)| v == to).map(|(v, _)| *v).collect();
        own.sort_unstable();
        for v in own {
            match follow_loops.last_mut() {
                Some((last, count)) if *last == v => *count += 1,
                _ => follow_loops.push((v, 1)),
            }
        }
        let follows = Topology::from_coo(num_nodes, &src, &dst);
        let homes: Vec<u32> = (0..u64::from(persons))
            .map(|i| persons + (h64(21, 3, i) % u64::from(cities)) as u32)
            .collect();
        let all: Vec<u32> = (0..persons).collect();
        let lives_in = Topology::from_coo(num_nodes, &all, &homes);
        let age =
            |v: u32| if v < persons { 18 + (h64(21, 4, v.into()) % 62) as i64 } else { LEAST_AGE };
        let ages = (0..num_nodes).map(age).collect();
        let kinds = (0..num_nodes).map(|v| u32::from(v >= persons)).collect();
        Self { persons, num_nodes, follows, follow_loops, lives_in, ages, kinds }
    }

    fn is_between(&self, v: u32, least: i64, most: i64) -> bool {
        (least..=most).contains(&self.ages[v as usize])
    }
}

/// The network on the GPU.
struct Copy {
    gpu: Gpu,
    device: Device,
    num_nodes: u32,
    cities: u32,
    follows: Relation,
    lives_in: Relation,
    ages: DeviceColumn,
    kinds: DeviceColumn,
}

impl Copy {
    fn new(gpu: &Gpu, of: &Network) -> Result<Self, SuiteError> {
        let device = Device::Cuda(gpu.clone());
        Ok(Self {
            num_nodes: of.num_nodes,
            cities: of.num_nodes - of.persons,
            follows: Relation::upload(gpu, &of.follows, &of.follow_loops)?,
            lives_in: Relation::upload(gpu, &of.lives_in, &[])?,
            ages: device.upload(Cells::I64(&of.ages), None)?,
            kinds: device.upload(Cells::Codes(&of.kinds), None)?,
            gpu: gpu.clone(),
            device,
        })
    }

    /// Nodes of a kind whose age is not below the least, where there is one, nor above the most.
    fn nodes(&self, kind: u32, least: Option<i64>, most: Option<i64>) -> Result<Mask, SuiteError> {
        let mut all =
            vec![Predicate::Compare { column: 1, op: Compare::Eq, value: Value::Code(kind) }];
        for (op, bound) in [(Compare::Ge, least), (Compare::Le, most)] {
            let test = |v| Predicate::Compare { column: 0, op, value: Value::Int(v) };
            all.extend(bound.map(test));
        }
        let columns = [&self.ages, &self.kinds];
        let rows = self.num_nodes as usize;
        Ok(self.device.filter(rows, &columns, &Predicate::And(all), &CancelToken::new())?)
    }

    fn count(&self, room: usize) -> Result<Count<'_>, SuiteError> {
        Ok(Count::new(&self.gpu, self.num_nodes, room)?)
    }

    fn follow<'s>(&'s self, to: &'s Mask, before: Option<Paths<'s>>) -> PatternStep<'s> {
        PatternStep { relation: &self.follows, forward: true, to: to.words(), before }
    }

    /// Paths of two steps from persons to persons; those in the middle and at the end meet conditions on their age.
    fn two_steps(&self, middle: Option<i64>, end: Option<i64>) -> Result<Answer, SuiteError> {
        let persons = self.nodes(0, None, None)?;
        let [middle, end] = [
            middle.map(|most| self.nodes(0, None, Some(most))).transpose()?,
            end.map(|least| self.nodes(0, Some(least), None)).transpose()?,
        ];
        let (middle, end) = (middle.as_ref().unwrap_or(&persons), end.as_ref().unwrap_or(&persons));
        let mut count = self.count(0)?;
        let from = marks(&persons);
        let once = count.pull(&self.follow(middle, None), from)?;
        Ok(count.total(&self.follow(end, Some(from)), Paths::Each(once.view()))?)
    }

    /// Those whom most follow.
    fn most_followed(&self) -> Result<Answer, SuiteError> {
        let persons = self.nodes(0, None, None)?;
        let mut count = self.count(self.num_nodes as usize)?;
        let counts = count.pull(&self.follow(&persons, None), marks(&persons))?;
        listed(count, &counts, Some(WANTED))
    }

    /// How many persons of an age live in each city.
    fn cities(&self) -> Result<Answer, SuiteError> {
        let (some, cities) = (self.nodes(0, Some(30), Some(40))?, self.nodes(1, None, None)?);
        let mut count = self.count(self.num_nodes as usize)?;
        let step = PatternStep {
            relation: &self.lives_in,
            forward: true,
            to: cities.words(),
            before: None,
        };
        let counts = count.pull(&step, marks(&some))?;
        listed(count, &counts, None)
    }

    /// How many persons live in each city, and the sum of their ages.
    fn ages(&self) -> Result<Ages, SuiteError> {
        let (persons, cities) = (self.nodes(0, None, None)?, self.nodes(1, None, None)?);
        let Some(ages) = self.ages.words() else { return Ok(None) };
        let to = cities.words();
        let step = PatternStep { relation: &self.lives_in, forward: true, to, before: None };
        let numbers =
            Numbers { cells: NumberCells::Ints(ages.cast()), valid: None, least: LEAST_AGE };
        let count = Count::of_sums(&self.gpu, self.num_nodes, self.cities as usize)?;
        Ok(count.sums(&step, persons.words(), numbers, marks(&cities))?)
    }
}

/// What a count comes to.
type Answer = Counted;

/// What the ages above the least come to in each city.
type Ages = Option<Vec<Sums>>;

fn marks(mask: &Mask) -> Paths<'_> {
    mask.words().map_or(Paths::One, |words: View<'_, u32>| Paths::Marks(words))
}

fn listed(count: Count<'_>, counts: &Buf<u64>, wanted: Option<u32>) -> Result<Answer, SuiteError> {
    Ok(count.list(counts, wanted)?)
}

impl Network {
    /// As [`Copy::two_steps`], relationship by relationship.
    fn two_steps(&self, middle: Option<i64>, end: Option<i64>) -> Answer {
        let within = |v: u32| middle.is_none_or(|most| self.is_between(v, 0, most));
        let ends = |v: u32| end.is_none_or(|least| self.is_between(v, least, i64::MAX));
        let mut total = 0;
        for v in (0..self.persons).filter(|v| within(*v)) {
            let (ins, outs) = (self.follows.in_neighbors(v), self.follows.out_neighbors(v));
            let left = outs.iter().filter(|u| ends(**u)).count();
            // No path takes a loop twice.
            let loops = outs.iter().filter(|u| **u == v && ends(**u)).count();
            total += ins.len() * left - loops;
        }
        Counted::Total(total as u64)
    }

    /// As [`Copy::most_followed`] in the part that is certain: those with at least the number of the last that is wanted.
    fn most_followed(&self) -> Vec<(u32, u64)> {
        let mut all: Vec<(u32, u64)> =
            (0..self.persons).map(|v| (v, u64::from(self.follows.in_degree(v)))).collect();
        all.sort_unstable_by_key(|(v, count)| (std::cmp::Reverse(*count), *v));
        all.truncate(WANTED as usize);
        all
    }

    fn cities(&self) -> Answer {
        let lived = |v: u32| {
            let ins = self.lives_in.in_neighbors(v).iter();
            (v, ins.filter(|p| self.is_between(**p, 30, 40)).count() as u64)
        };
        Counted::Each((self.persons..self.num_nodes).map(lived).filter(|c| c.1 > 0).collect())
    }

    fn ages(&self) -> Ages {
        let lived = |v: u32| {
            let ins = self.lives_in.in_neighbors(v);
            let above = ins.iter().map(|p| (self.ages[*p as usize] - LEAST_AGE) as u64).sum();
            let rows = ins.len() as u32;
            Sums { node: v, paths: 1, rows, values: rows, above }
        };
        Some((self.persons..self.num_nodes).map(lived).filter(|of| of.rows > 0).collect())
    }
}

/// The first ends by their number, and then by their place.
fn first(of: Answer) -> Vec<(u32, u64)> {
    let Counted::Each(mut nodes) = of else { return Vec::new() };
    nodes.sort_unstable_by_key(|(v, count)| (std::cmp::Reverse(*count), *v));
    nodes.truncate(WANTED as usize);
    nodes
}

fn timed<A>(
    row: Row,
    copy: &Copy,
    equal: bool,
    edges: u32,
    work: impl Fn(&Copy) -> Result<A, SuiteError>,
) -> Result<Row, SuiteError> {
    let (_, times) = time(&copy.gpu, REPEATS, || work(copy))?;
    Ok(row.timed(times, f64::from(edges), "relationships").equal(equal))
}

/// Times the counts on a network of so many persons, and compares them with the CPU's on a smaller one.
pub(crate) fn run(gpu: &Gpu, persons: u32, out: &mut Out) {
    const TASKS: [&str; 5] =
        ["paths", "paths_between_ages", "first_by_paths", "ends_of_paths", "sums_by_ends"];
    if !out.wants(&TASKS) {
        return;
    }
    let on = format!("social {persons}");
    if !out.has_time() {
        return out.row("paths", &on, Ok);
    }
    let made = (|| {
        let checked = Network::new(persons.min(CHECKED_PERSONS));
        let same = Copy::new(gpu, &checked)?;
        let large = Network::new(persons);
        let edges = [large.follows.num_edges(), large.lives_in.num_edges()];
        Ok((checked, same, Copy::new(gpu, &large)?, edges))
    })();
    let (cpu, same, large, [follows, homes]) = match made {
        Ok(made) => made,
        Err(e) => return out.row("paths", &on, |_| Err(e)),
    };
    out.row("paths", &on, |row| {
        let equal = same.two_steps(None, None)? == cpu.two_steps(None, None);
        timed(row, &large, equal, follows, |copy| copy.two_steps(None, None))
    });
    out.row("paths_between_ages", &on, |row| {
        let (middle, end) = (Some(49), Some(26));
        let equal = same.two_steps(middle, end)? == cpu.two_steps(middle, end);
        timed(row, &large, equal, follows, |copy| copy.two_steps(middle, end))
    });
    out.row("first_by_paths", &on, |row| {
        let equal = first(same.most_followed()?) == cpu.most_followed();
        timed(row, &large, equal, follows, Copy::most_followed)
    });
    out.row("ends_of_paths", &on, |row| {
        let equal = same.cities()? == cpu.cities();
        timed(row, &large, equal, homes, Copy::cities)
    });
    out.row("sums_by_ends", &on, |row| {
        let equal = same.ages()? == cpu.ages();
        timed(row, &large, equal, homes, Copy::ages)
    });
}
