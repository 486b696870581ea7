//! The knobs of the live layout, under the names that page addresses and the page's controls use.

use std::sync::LazyLock;

use graphlume_algo::layout::force_atlas2::Params;
use graphlume_types::{Notice, limits, note};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::EngineError;

/// Graphs of this many nodes have logarithmic attraction unless a setting says otherwise. Smaller ones have
/// few nodes to hide each other, and show their single edges better without.
const LIN_LOG_FROM: u32 = 500;

/// Why a value was not taken; the name is added by the caller.
type Expected = &'static str;

/// One knob: its name, how it is set, and what it means for the parameters of the layout of a graph of so many nodes.
struct Knob {
    name: &'static str,
    set: Set,
    means: fn(&LayoutSettings, &mut Params, u32),
}

enum Set {
    Flag(fn(&mut LayoutSettings, bool)),
    /// Yes or no, or null for what suits the graph.
    Choice(fn(&mut LayoutSettings, Option<bool>)),
    /// A number, which is moved into a range.
    Number(f64, f64, fn(&mut LayoutSettings, f64)),
    /// Milliseconds.
    Time(fn(&mut LayoutSettings, u64)),
}

impl Knob {
    /// Sets it; what it was moved to, when the value was outside its range.
    fn set(&self, s: &mut LayoutSettings, v: &Value) -> Result<Option<(f64, f64, f64)>, Expected> {
        let (low, high) = match self.set {
            Set::Flag(set) => {
                set(s, flag(v)?);
                return Ok(None);
            }
            Set::Choice(set) => {
                set(s, if v.is_null() { None } else { Some(flag(v).map_err(|_| CHOICE)?) });
                return Ok(None);
            }
            Set::Number(low, high, set) => {
                set(s, number(v)?.clamp(low, high));
                (low, high)
            }
            Set::Time(set) => {
                set(s, play(v)?);
                (0.0, PLAY_MILLIS_MAX)
            }
        };
        let outside = number(v).ok().filter(|x| !(low..=high).contains(x));
        Ok(outside.map(|x| (low, high, x.clamp(low, high))))
    }
}

const BOOL: Expected = "expected true or false";
const CHOICE: Expected = "expected true, false or null, which leaves it to the size of the graph";
const NUMBER: Expected = "expected a finite number";
#[expect(clippy::cast_precision_loss, reason = "the limit is far below 2^53")]
const PLAY_MILLIS_MAX: f64 = limits::PLAY_MILLIS_ADDRESS_MAX as f64;

/// Makes [`LayoutSettings`], its default and the list of knobs from one row each: the field, its type and default, the name in
/// addresses and messages, how it is set, and what it means for the parameters.
macro_rules! knobs {
    ($($(#[$doc:meta])* $field:ident $name:literal: $type:ty = $default:expr, $set:expr, $means:expr;)*) => {
        /// How the layout of a session runs. Numbers are multipliers of the layout's own defaults.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(ts_rs::TS))]
        #[serde(default)]
        pub struct LayoutSettings {
            $($(#[$doc])* #[serde(rename = $name)] pub $field: $type,)*
            /// Whether an address, a client or a person set `play`. Where none did, a session of a dataset that names a
            /// `layout`, or has positions in its columns, begins at rest, so that the nodes stay where these have put them.
            #[serde(skip)]
            pub play_is_set: bool,
        }

        impl Default for LayoutSettings {
            fn default() -> Self {
                Self { $($field: $default,)* play_is_set: false }
            }
        }

        const KNOBS: &[Knob] = &[$(Knob { name: $name, set: $set, means: $means }),*];
    };
}

knobs! {
    /// How much the layout runs once the graph is loaded and a viewer is attached, as the milliseconds that the size of the
    /// graph turns into a number of iterations; 0 keeps the given positions.
    play "play": u64 = limits::PLAY_MILLIS_DEFAULT,
        Set::Time(|s, v| (s.play, s.play_is_set) = (v, true)), |_, _, _| {};
    /// Logarithmic attraction: tighter communities. Without a value, graphs of some size have it, because otherwise their
    /// communities lie over each other.
    lin_log "linLog": Option<bool> = None,
        Set::Choice(|s, v| s.lin_log = v),
        |s, params, nodes| params.lin_log_mode = s.lin_log.unwrap_or(nodes >= LIN_LOG_FROM);
    /// A pull to the centre that does not weaken with distance.
    strong_gravity "strongGravity": bool = false,
        Set::Flag(|s, v| s.strong_gravity = v), |s, params, _| params.strong_gravity_mode = s.strong_gravity;
    /// Pushes hubs outwards.
    dissuade_hubs "dissuadeHubs": bool = false,
        Set::Flag(|s, v| s.dissuade_hubs = v), |s, params, _| params.outbound_attraction_distribution = s.dissuade_hubs;
    /// Pull to the centre.
    gravity "gravity": f64 = 1.0,
        Set::Number(0.0, 100.0, |s, v| s.gravity = v), |s, params, _| params.gravity *= s.gravity;
    /// Repulsion.
    scaling_ratio "scalingRatio": f64 = 1.0,
        Set::Number(0.01, 100.0, |s, v| s.scaling_ratio = v), |s, params, _| params.scaling_ratio *= s.scaling_ratio;
    /// Exponent of the edge weight; 0 ignores weights.
    edge_influence "edgeInfluence": f64 = 1.0,
        Set::Number(0.0, 10.0, |s, v| s.edge_influence = v), |s, params, _| params.edge_weight_influence = s.edge_influence;
    /// Tolerated swinging: more is faster and rougher.
    precision_vs_speed "precisionVsSpeed": f64 = 1.0,
        Set::Number(0.1, 10.0, |s, v| s.precision_vs_speed = v),
        |s, params, _| params.jitter_tolerance *= s.precision_vs_speed;
    /// How far nodes may be attracted past one another: 1 as the layout has it.
    looseness "looseness": f64 = 1.0,
        Set::Number(0.1, 10.0, |s, v| s.looseness = v), |s, params, _| params.scaling_ratio *= s.looseness;
    /// Keeps every x.
    locked_x "lockedX": bool = false, Set::Flag(|s, v| s.locked_x = v), |s, params, _| params.locked_x = s.locked_x;
    /// Keeps every y.
    locked_y "lockedY": bool = false, Set::Flag(|s, v| s.locked_y = v), |s, params, _| params.locked_y = s.locked_y;
    /// Keeps every distance from the origin.
    locked_r "lockedR": bool = false, Set::Flag(|s, v| s.locked_r = v), |s, params, _| params.locked_r = s.locked_r;
}

/// What a refusal of an unknown name says.
static KNOWN: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<&str> = LayoutSettings::knob_names().collect();
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("known are {} and {last}", others.join(", "))
});

fn flag(v: &Value) -> Result<bool, Expected> {
    match v {
        Value::Bool(b) => Ok(*b),
        Value::Number(n) if n.as_f64() == Some(0.0) => Ok(false),
        Value::Number(n) if n.as_f64() == Some(1.0) => Ok(true),
        Value::String(s) => match s.trim().to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(true),
            "false" | "0" | "no" | "off" => Ok(false),
            _ => Err(BOOL),
        },
        _ => Err(BOOL),
    }
}

/// A finite number.
fn number(v: &Value) -> Result<f64, Expected> {
    let x = match v {
        Value::Number(n) => n.as_f64(),
        Value::String(s) => s.trim().parse::<f64>().ok(),
        _ => None,
    };
    x.filter(|x| x.is_finite()).ok_or(NUMBER)
}

/// Milliseconds, or a yes or no that means the default time or none.
fn play(v: &Value) -> Result<u64, Expected> {
    if let Ok(ms) = number(v) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        return Ok(ms.clamp(0.0, PLAY_MILLIS_MAX) as u64);
    }
    match flag(v) {
        Ok(true) => Ok(limits::PLAY_MILLIS_DEFAULT),
        Ok(false) => Ok(0),
        Err(_) => Err("expected milliseconds, true or false"),
    }
}

/// Iterations that a play time stands for on a graph of some size: as many as a small machine does in it, but
/// counted and not timed, so that the same data give the same picture at any load.
pub(crate) fn play_iterations(millis: u64, nodes: u32, edges: u32) -> u64 {
    let work = (u64::from(nodes) + u64::from(edges)).max(1);
    let per_second = (limits::PLAY_ELEMENTS_PER_SECOND / work)
        .clamp(limits::PLAY_ITERATIONS_PER_SECOND_MIN, limits::PLAY_ITERATIONS_PER_SECOND_MAX);
    (millis * per_second).div_ceil(1000)
}

impl LayoutSettings {
    /// Whether `name` is a knob of the layout.
    #[must_use]
    pub fn is_knob(name: &str) -> bool {
        KNOBS.iter().any(|k| k.name == name)
    }

    /// The names of all knobs, as page addresses write them.
    pub fn knob_names() -> impl Iterator<Item = &'static str> {
        KNOBS.iter().map(|k| k.name)
    }

    /// Settings from a page address: other names are passed over, of a repeated name the last counts,
    /// `None` and the empty text count as absent, and a value that cannot be used becomes a notice,
    /// because clients send whatever they were given and the page must open.
    pub fn from_query<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> (Self, Vec<Notice>) {
        let (mut out, mut notices) = (Self::default(), Vec::new());
        for (name, value) in pairs {
            if !Self::is_knob(name) || matches!(value.trim(), "" | "None" | "null" | "undefined") {
                continue;
            }
            let said = match out.set(name, &Value::String(value.to_owned())) {
                Err(e) => Notice::new("setting-ignored", format!("{e}: the default is used")),
                Ok(Some((low, high, used))) => {
                    let shown: String = value.trim().chars().take(64).collect();
                    let text = format!(
                        "{name}={shown} of the page's address is outside {low} to {high}: {used} is used"
                    );
                    Notice::new("setting-out-of-range", text)
                }
                Ok(None) => continue,
            };
            note(&mut notices, said);
        }
        (out, notices)
    }

    /// Changes the knobs that `patch` names; all of them or, on an error, none.
    ///
    /// # Errors
    /// [`EngineError::Setting`] with the first name that is unknown or whose value is not possible.
    pub fn apply(&mut self, patch: &Map<String, Value>) -> Result<(), EngineError> {
        let mut next = *self;
        for (name, value) in patch {
            next.set(name, value)?;
        }
        *self = next;
        Ok(())
    }

    /// Sets the knob `name`; its range and what is used, when the value was outside of it.
    fn set(&mut self, name: &str, value: &Value) -> Result<Option<(f64, f64, f64)>, EngineError> {
        let wrong = |expected| EngineError::Setting {
            name: name.chars().take(64).collect(),
            value: value.to_string().chars().take(64).collect(),
            expected,
        };
        let knob = KNOBS.iter().find(|k| k.name == name).ok_or_else(|| wrong(&KNOWN))?;
        knob.set(self, value).map_err(wrong)
    }

    /// The parameters of the force layout that these settings mean for a graph of this size.
    #[must_use]
    pub fn params(&self, num_nodes: u32) -> Params {
        let mut params = Params::default();
        KNOBS.iter().for_each(|knob| (knob.means)(self, &mut params, num_nodes));
        params
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use graphlume_types::{Code, Coded};
    use serde_json::json;

    fn patch(v: Value) -> Map<String, Value> {
        v.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn every_field_is_a_knob_and_every_knob_a_field() {
        let shown = serde_json::to_value(LayoutSettings::default()).unwrap();
        let fields: Vec<&str> = shown.as_object().unwrap().keys().map(String::as_str).collect();
        let knobs: Vec<&str> = KNOBS.iter().map(|k| k.name).collect();
        assert_eq!(fields, knobs);
    }

    #[test]
    fn a_page_address_may_say_anything_and_still_opens() {
        let (s, notices) = LayoutSettings::from_query([
            ("dataset", "abc"),
            ("play", "0"),
            ("linLog", "True"),
            ("gravity", "abc"),
            ("scalingRatio", "None"),
            ("edgeInfluence", "NaN"),
            ("lockedX", "false"),
            ("lockedX", "1"),
            ("precisionVsSpeed", "-5"),
        ]);
        assert_eq!((s.play, s.lin_log, s.locked_x), (0, Some(true), true));
        assert_eq!((s.gravity, s.scaling_ratio, s.edge_influence), (1.0, 1.0, 1.0));
        assert_eq!(s.precision_vs_speed, 0.1, "moved into range");
        assert_eq!(notices.len(), 3, "{notices:?}");
        assert!(notices[0].text.contains("gravity") && notices[1].text.contains("edgeInfluence"));
        let moved = "precisionVsSpeed=-5 of the page's address is outside 0.1 to 10: 0.1 is used";
        assert_eq!(
            (notices[2].slug.as_ref(), notices[2].text.as_str()),
            ("setting-out-of-range", moved)
        );
    }

    #[test]
    fn large_graphs_have_logarithmic_attraction_unless_somebody_says_no() {
        let automatic = LayoutSettings::default();
        assert!(!automatic.params(LIN_LOG_FROM - 1).lin_log_mode);
        assert!(automatic.params(LIN_LOG_FROM).lin_log_mode);
        let (off, _) = LayoutSettings::from_query([("linLog", "False")]);
        assert!(!off.params(1_000_000).lin_log_mode);
        let (on, _) = LayoutSettings::from_query([("linLog", "True")]);
        assert!(on.params(2).lin_log_mode);
        let mut taken_back = on;
        taken_back.apply(&patch(json!({"linLog": null}))).expect("null leaves it to the size");
        assert_eq!(taken_back, automatic);
    }

    #[test]
    fn play_is_a_time_or_a_yes_or_no() {
        let play = |text| LayoutSettings::from_query([("play", text)]).0.play;
        assert_eq!(play("true"), limits::PLAY_MILLIS_DEFAULT);
        assert_eq!(play("False"), 0);
        assert_eq!(play("2500"), 2500);
        assert_eq!(play("-3"), 0);
        assert_eq!(play("10000"), 10_000);
        assert_eq!(play("1e300"), 10_000);
        assert_eq!(play("soon"), limits::PLAY_MILLIS_DEFAULT);
        let said = |text| LayoutSettings::from_query([("play", text)]).1;
        assert_eq!(said("10000"), []);
        assert!(said("12000")[0].text.ends_with("is outside 0 to 10000: 10000 is used"));
        assert_eq!(said("true"), []);
    }

    #[test]
    fn a_bad_patch_changes_nothing_and_names_the_knob() {
        let mut s = LayoutSettings::default();
        for bad in [
            json!({"linLog": true, "gravitas": 2}),
            json!({"linLog": true, "gravity": "heavy"}),
            json!({"linLog": true, "gravity": null}),
            json!({"linLog": true, "lockedR": 7}),
        ] {
            let e = s.apply(&patch(bad.clone())).expect_err("refused");
            assert_eq!(e.code(), Code::InvalidArgument);
            let at_fault = bad.as_object().unwrap().keys().nth(1).unwrap();
            assert_eq!(e.field(), Some(at_fault.as_str()));
            assert_eq!(s, LayoutSettings::default());
        }
        s.apply(&patch(json!({"gravity": 1e9, "lockedY": true}))).expect("taken");
        assert_eq!((s.gravity, s.locked_y), (100.0, true));
    }
}
