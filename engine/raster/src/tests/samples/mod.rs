//! Samples of the formulae that the page has as well (`engine/raster/samples/README.md`): made here, held by the page's
//! tests (`shell/web/tests/unit/twins.test.ts`). The test below holds this side to them.

use serde_json::{Value, json};

mod afar;
mod edges;
mod labels;
mod lines;
mod look;
mod scene;
mod shaders;
mod view;
mod world;

/// Numbers that rounding in 32 bits may change, and those that are computed in 64 bits on both sides.
const SINGLE: f64 = 1e-5;
const DOUBLE: f64 = 1e-9;
/// The same for directions that are found from two places near to each other, of which rounding leaves less.
const TURN: f64 = 1e-3;

/// One formula with its samples, each an object of what goes `in` and what comes `out`.
struct Formula {
    name: &'static str,
    /// The files on both sides.
    here: &'static str,
    there: &'static str,
    /// By which share of the largest of them numbers that belong together may differ.
    within: f64,
    samples: Vec<[Value; 2]>,
}

impl Formula {
    fn new(name: &'static str, [here, there]: [&'static str; 2], within: f64) -> Self {
        Self { name, here, there, within, samples: Vec::new() }
    }

    fn add(&mut self, input: Value, output: Value) {
        self.samples.push([input, output]);
    }
}

/// A file of samples, and what makes it.
type Group = (&'static str, fn() -> Vec<Formula>);

/// The files of samples.
const GROUPS: [Group; 18] = [
    ("fit", view::fit),
    ("view", view::view),
    ("labels", labels::labels),
    ("names", labels::names),
    ("edge-labels", labels::along),
    ("groups", afar::groups),
    ("level", afar::level),
    ("collapsed", afar::collapsed),
    ("bundle", lines::bundle),
    ("spots", lines::spots),
    ("lines", edges::lines),
    ("near", edges::near),
    ("rare", edges::rare),
    ("direction", edges::direction),
    ("ink", edges::ink),
    ("underlay", world::underlay),
    ("look", look::look),
    ("shaders", shaders::shaders),
];

/// A number as it is written: so many digits that both sides read the same, and none that only one of them has. What JSON
/// has no number for is written as a word.
fn num(x: impl Into<f64>, digits: usize) -> Value {
    let x: f64 = x.into();
    if x.is_finite() {
        let short: f64 = format!("{x:.*e}", digits - 1).parse().unwrap();
        // One zero is as good as the other.
        return if short.fract() == 0.0 && short.abs() < 1e15 {
            json!(short as i64)
        } else {
            json!(short)
        };
    }
    json!(if x.is_nan() {
        "NaN"
    } else if x > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    })
}

/// What was computed in 32 and in 64 bits.
fn single(x: f32) -> Value {
    num(x, 7)
}

fn double(x: f64) -> Value {
    num(x, 12)
}

/// What goes in, all of it.
fn exact(x: impl Into<f64>) -> Value {
    num(x, 17)
}

fn singles(all: impl IntoIterator<Item = f32>) -> Value {
    all.into_iter().map(single).collect()
}

fn doubles(all: impl IntoIterator<Item = f64>) -> Value {
    all.into_iter().map(double).collect()
}

fn exacts<T: Into<f64>>(all: impl IntoIterator<Item = T>) -> Value {
    all.into_iter().map(exact).collect()
}

/// Numbers as good as at random (a linear congruence, which the page's tests have as well), with few digits.
struct Dice(u32);

impl Dice {
    fn roll(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 8
    }

    fn below(&mut self, most: u32) -> u32 {
        self.roll() % most
    }

    /// A number between two, in steps of an eighth.
    fn between(&mut self, low: f32, high: f32) -> f32 {
        let steps = ((high - low) * 8.0) as u32;
        low + self.below(steps.max(1)) as f32 / 8.0
    }

    fn point(&mut self, low: [f32; 2], high: [f32; 2]) -> [f32; 2] {
        [0, 1].map(|c| self.between(low[c], high[c]))
    }

    fn bytes(&mut self, count: usize, most: u32) -> Vec<u8> {
        (0..count).map(|_| self.below(most) as u8).collect()
    }
}

fn file(group: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("samples/{group}.json"))
}

/// A file of samples, one a line.
fn written(formulae: &[Formula]) -> String {
    let parts = formulae.iter().map(|formula| {
        let Formula { name, here, there, within, samples } = formula;
        let head = format!("  \"{name}\": {{\n    \"raster\": \"{here}\",\n    \"page\": \"{there}\",\n    \"within\": {within:e},\n");
        let sample = |[input, output]: &[Value; 2]| format!("      {{\"in\":{input},\"out\":{output}}}");
        let lines: Vec<String> = samples.iter().map(sample).collect();
        format!("{head}    \"samples\": [\n{}\n    ]\n  }}", lines.join(",\n"))
    });
    format!("{{\n{}\n}}\n", parts.collect::<Vec<_>>().join(",\n"))
}

fn number(of: &Value) -> Option<f64> {
    of.as_f64().or_else(|| of.as_str()?.parse().ok())
}

/// The greatest number of a list of numbers, and of lists of them.
fn greatest(of: &Value) -> f64 {
    match of {
        Value::Array(all) => all.iter().map(greatest).fold(0.0, f64::max),
        _ => of.as_f64().unwrap_or(0.0).abs(),
    }
}

/// Whether two values are the same but for rounding: a number by its own size, those of a list by that of the greatest.
fn is_same(a: &Value, b: &Value, within: f64, scale: Option<f64>) -> bool {
    match (a, b) {
        (Value::Array(x), Value::Array(y)) => {
            let scale = scale.or_else(|| Some(greatest(a).max(greatest(b)) + 1e-9 / within));
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| is_same(x, y, within, scale))
        }
        (Value::Object(x), Value::Object(y)) => {
            let same = |(key, value): (&String, &Value)| {
                let within = if key == "turn" { within.max(TURN) } else { within };
                y.get(key).is_some_and(|other| is_same(value, other, within, None))
            };
            x.len() == y.len() && x.iter().all(same)
        }
        _ => match (number(a), number(b)) {
            (Some(x), Some(y)) if x.is_finite() && y.is_finite() => {
                (x - y).abs() <= within * scale.unwrap_or_else(|| x.abs().max(y.abs()))
            }
            _ => a == b,
        },
    }
}

#[test]
fn pictures_keep_to_the_samples_that_the_page_keeps_to() {
    for (group, make) in GROUPS {
        let text = std::fs::read_to_string(file(group)).unwrap_or_default();
        let stored: Value = serde_json::from_str(&text).unwrap_or_default();
        let formulae = make();
        let hint =
            "make them anew with `cargo test -p graphlume-raster -- --ignored write_samples`";
        for Formula { name, here, there, within, samples } in &formulae {
            let known = stored[*name]["samples"].as_array().cloned().unwrap_or_default();
            for (k, [input, output]) in samples.iter().enumerate() {
                let Some(sample) =
                    known.get(k).filter(|sample| is_same(&sample["in"], input, DOUBLE, None))
                else {
                    panic!(
                        "samples/{group}.json has other inputs of \"{name}\" from sample {k} on than this test: {hint}"
                    );
                };
                assert!(
                    is_same(&sample["out"], output, *within, None),
                    "{here} and {there} are two forms of one formula, \"{name}\", and this one has changed. Of sample {k},\n\
                     {input}\nthe samples have\n{}\nand {here} now\n{output}\n\
                     If that is meant, change the page's form too and {hint}; the page's unit tests hold them.",
                    sample["out"]
                );
            }
            assert_eq!(
                known.len(),
                samples.len(),
                "samples/{group}.json has other samples of \"{name}\": {hint}"
            );
        }
        let names: Vec<&str> = formulae.iter().map(|formula| formula.name).collect();
        let known = stored.as_object().map_or(0, serde_json::Map::len);
        assert_eq!(
            known,
            names.len(),
            "samples/{group}.json has other formulae than {names:?}: {hint}"
        );
    }
}

#[test]
#[ignore = "writes what the test above compares"]
fn write_samples() {
    for (group, make) in GROUPS {
        std::fs::write(file(group), written(&make())).unwrap();
    }
}

#[test]
fn a_difference_is_seen_and_rounding_is_not() {
    let of = |a: Value, b: Value| is_same(&a, &b, SINGLE, None);
    assert!(
        of(json!([1000, 0]), json!([1000.001, 0.001])) && !of(json!([1000, 0]), json!([1000.1, 0]))
    );
    assert!(of(json!(1e-20), json!(1.000001e-20)) && !of(json!(1e-20), json!(2e-20)));
    assert!(
        of(json!({"a": "NaN"}), json!({"a": "NaN"})) && !of(json!({"a": "NaN"}), json!({"a": 1}))
    );
    assert!(
        !of(json!([1, 2]), json!([1]))
            && !of(json!(null), json!([]))
            && !of(json!(0), json!(1e-12))
    );
    assert!(of(json!(["x", true]), json!(["x", true])) && !of(json!("x"), json!("y")));
}
