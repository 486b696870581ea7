//! Values as the scenarios write them, in a form in which they can be compared.

use graphlume_cypher::{Answer, Value};
use graphlume_expr::Scalar;

/// A value without identity: entities by what they show.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    Null,
    Bool(bool),
    Int(i64),
    Float(String),
    Text(String),
    List(Vec<Shown>),
    Map(Vec<(String, Shown)>),
    Node(Vec<String>, Vec<(String, Shown)>),
    Edge(String, Vec<(String, Shown)>),
    Path(Vec<Shown>),
}

fn float(v: f64) -> Shown {
    // Twelve digits are what two ways of adding up agree on.
    Shown::Float(if v == 0.0 { "0".to_owned() } else { format!("{v:.11e}") })
}

fn sorted(mut map: Vec<(String, Shown)>) -> Vec<(String, Shown)> {
    map.sort_by(|a, b| a.0.cmp(&b.0));
    map
}

/// What a value of an answer shows.
pub fn shown(answer: &Answer, value: &Value) -> Shown {
    let entries = |list: &[(std::sync::Arc<str>, Value)]| {
        sorted(list.iter().map(|(k, v)| (k.to_string(), shown(answer, v))).collect())
    };
    match value {
        Value::Scalar(Scalar::Null) => Shown::Null,
        Value::Scalar(Scalar::Bool(v)) => Shown::Bool(*v),
        Value::Scalar(Scalar::Int(v)) => Shown::Int(*v),
        Value::Scalar(Scalar::UInt(v)) => Shown::Text(v.to_string()),
        Value::Scalar(Scalar::Float(v)) => float(*v),
        Value::Scalar(Scalar::Text(v)) => Shown::Text(v.to_string()),
        Value::Scalar(Scalar::Temporal(t)) => Shown::Text(t.to_string()),
        Value::Duration(d) => Shown::Text(d.to_string()),
        Value::List(list) => Shown::List(list.iter().map(|v| shown(answer, v)).collect()),
        Value::Map(map) => Shown::Map(entries(map)),
        Value::Node(v) => {
            let mut labels: Vec<String> =
                answer.labels(*v).iter().map(ToString::to_string).collect();
            labels.sort();
            Shown::Node(labels, entries(&answer.node_properties(*v)))
        }
        Value::Edge(e) => {
            let kind = answer.edge_type(e.row).map(|t| t.to_string()).unwrap_or_default();
            Shown::Edge(kind, entries(&answer.edge_properties(e.row)))
        }
        Value::Path(p) => {
            let mut parts = vec![shown(answer, &Value::Node(p.nodes[0]))];
            for (edge, pair) in p.edges.iter().zip(p.nodes.windows(2)) {
                let forward = edge.source == pair[0];
                parts.push(Shown::Text(if forward { ">" } else { "<" }.to_owned()));
                parts.push(shown(answer, &Value::Edge(*edge)));
                parts.push(shown(answer, &Value::Node(pair[1])));
            }
            Shown::Path(parts)
        }
    }
}

/// Reads a value as the scenarios write it.
pub fn read(text: &str) -> Option<Shown> {
    let mut reader = Reader { chars: text.chars().collect(), at: 0 };
    let value = reader.value()?;
    reader.blank();
    (reader.at == reader.chars.len()).then_some(value)
}

struct Reader {
    chars: Vec<char>,
    at: usize,
}

impl Reader {
    fn blank(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn eat(&mut self, text: &str) -> bool {
        self.blank();
        let found = text.chars().enumerate().all(|(i, c)| self.chars.get(self.at + i) == Some(&c));
        if found {
            self.at += text.chars().count();
        }
        found
    }

    fn need(&mut self, text: &str) -> Option<()> {
        self.eat(text).then_some(())
    }

    fn name(&mut self) -> Option<String> {
        self.blank();
        if self.eat("`") {
            let start = self.at;
            while self.peek()? != '`' {
                self.at += 1;
            }
            self.at += 1;
            return Some(self.chars[start..self.at - 1].iter().collect());
        }
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_') {
            self.at += 1;
        }
        (self.at > start).then(|| self.chars[start..self.at].iter().collect())
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.peek()?;
        self.at += 1;
        let mut out = String::new();
        loop {
            let c = self.peek()?;
            self.at += 1;
            if c == quote {
                return Some(out);
            }
            if c != '\\' {
                out.push(c);
                continue;
            }
            let escape = self.peek()?;
            self.at += 1;
            out.push(match escape {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                other => other,
            });
        }
    }

    fn props(&mut self) -> Option<Vec<(String, Shown)>> {
        self.blank();
        if !self.eat("{") {
            return Some(Vec::new());
        }
        let mut map = Vec::new();
        if self.eat("}") {
            return Some(map);
        }
        loop {
            self.blank();
            let key =
                if matches!(self.peek()?, '\'' | '"') { self.string()? } else { self.name()? };
            self.need(":")?;
            map.push((key, self.value()?));
            if self.eat("}") {
                return Some(sorted(map));
            }
            self.need(",")?;
        }
    }

    fn labels(&mut self) -> Option<Vec<String>> {
        let mut labels = Vec::new();
        while self.eat(":") {
            labels.push(self.name()?);
        }
        Some(labels)
    }

    fn node(&mut self) -> Option<Shown> {
        self.need("(")?;
        let mut labels = self.labels()?;
        labels.sort();
        let props = self.props()?;
        self.need(")")?;
        Some(Shown::Node(labels, props))
    }

    fn edge(&mut self) -> Option<Shown> {
        self.need("[")?;
        let kind = self.labels()?.into_iter().next().unwrap_or_default();
        let props = self.props()?;
        self.need("]")?;
        Some(Shown::Edge(kind, props))
    }

    fn value(&mut self) -> Option<Shown> {
        self.blank();
        match self.peek()? {
            '\'' | '"' => self.string().map(Shown::Text),
            '(' => self.node(),
            '{' => self.props().map(Shown::Map),
            '<' => {
                self.at += 1;
                let mut parts = vec![self.node()?];
                while !self.eat(">") {
                    let back = self.eat("<-") || !self.eat("-");
                    parts.push(Shown::Text(if back { "<" } else { ">" }.to_owned()));
                    parts.push(self.edge()?);
                    self.need(if back { "-" } else { "->" })?;
                    parts.push(self.node()?);
                }
                Some(Shown::Path(parts))
            }
            '[' => {
                let mark = self.at;
                self.at += 1;
                self.blank();
                if self.peek() == Some(':') {
                    self.at = mark;
                    return self.edge();
                }
                let mut list = Vec::new();
                if self.eat("]") {
                    return Some(Shown::List(list));
                }
                loop {
                    list.push(self.value()?);
                    if self.eat("]") {
                        return Some(Shown::List(list));
                    }
                    self.need(",")?;
                }
            }
            _ => self.plain(),
        }
    }

    fn plain(&mut self) -> Option<Shown> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '+' | '_'))
        {
            self.at += 1;
        }
        let word: String = self.chars[start..self.at].iter().collect();
        Some(match word.as_str() {
            "null" => Shown::Null,
            "true" => Shown::Bool(true),
            "false" => Shown::Bool(false),
            "NaN" => float(f64::NAN),
            "Inf" | "Infinity" => float(f64::INFINITY),
            "-Inf" | "-Infinity" => float(f64::NEG_INFINITY),
            _ => match word.parse::<i64>() {
                Ok(v) => Shown::Int(v),
                Err(_) => float(word.parse().ok()?),
            },
        })
    }
}

/// Lists in a fixed order, for scenarios that ignore it.
pub fn unordered(value: &Shown) -> Shown {
    match value {
        Shown::List(list) => {
            let mut list: Vec<Shown> = list.iter().map(unordered).collect();
            list.sort_by_key(|v| format!("{v:?}"));
            Shown::List(list)
        }
        other => other.clone(),
    }
}
