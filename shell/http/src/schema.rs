//! JSON schemas of bodies and answers, as data that stands in the rows of the route table.
//!
//! Rows are constants, so a schema is one too. `/openapi.json` writes them down ([`Shape::json`]); tests hold recorded
//! answers against them.

use serde_json::{Map, Value, json};

/// The form of a JSON value.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Anything, null included.
    Any,
    /// A string.
    Text,
    /// A string with the address of something.
    Address,
    /// An integer, 0 or more.
    Count,
    /// Any number.
    Number,
    /// True or false.
    Bool,
    /// Always true.
    True,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A list of one kind of elements.
    List(&'static Shape),
    /// An object with names of the client's own choice.
    Map(&'static Shape),
    /// An object with these members, and perhaps others.
    Object(&'static [Member]),
    /// One of several forms.
    Either(&'static [Shape]),
    /// The form, or null.
    Nullable(&'static Shape),
    /// A form with a name of its own in the document.
    Named(&'static Named),
}

/// A form that the document describes once.
#[derive(Debug)]
pub struct Named {
    /// The name, as in `#/components/schemas/Name`.
    pub name: &'static str,
    /// What it stands for, a sentence.
    pub doc: &'static str,
    /// The form.
    pub shape: Shape,
}

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    name: &'static str,
    shape: Shape,
    is_required: bool,
    doc: &'static str,
}

/// A member that is always there.
pub(crate) const fn must(name: &'static str, shape: Shape, doc: &'static str) -> Member {
    Member { name, shape, is_required: true, doc }
}

/// A member that may be absent.
pub(crate) const fn may(name: &'static str, shape: Shape, doc: &'static str) -> Member {
    Member { name, shape, is_required: false, doc }
}

impl Shape {
    /// The JSON schema. Named forms are references and are added to `named`, with those that they name.
    pub(crate) fn json(&self, named: &mut Map<String, Value>) -> Value {
        match self {
            Self::Any => json!({}),
            Self::Text => json!({"type": "string"}),
            Self::Address => json!({"type": "string", "format": "uri"}),
            Self::Count => json!({"type": "integer", "minimum": 0}),
            Self::Number => json!({"type": "number"}),
            Self::Bool => json!({"type": "boolean"}),
            Self::True => json!({"const": true}),
            Self::OneOf(texts) => json!({"enum": texts}),
            Self::List(of) => json!({"type": "array", "items": of.json(named)}),
            Self::Map(of) => json!({"type": "object", "additionalProperties": of.json(named)}),
            Self::Object(members) => object(members, named),
            Self::Either(forms) => {
                let forms: Vec<Value> = forms.iter().map(|form| form.json(named)).collect();
                json!({"anyOf": forms})
            }
            Self::Nullable(of) => json!({"anyOf": [of.json(named), {"type": "null"}]}),
            Self::Named(form) => {
                if !named.contains_key(form.name) {
                    // Before its members are written down, which may name it again.
                    named.insert(form.name.to_owned(), Value::Null);
                    let mut schema = form.shape.json(named);
                    schema["description"] = json!(form.doc);
                    named.insert(form.name.to_owned(), schema);
                }
                json!({"$ref": format!("#/components/schemas/{}", form.name)})
            }
        }
    }
}

fn object(members: &[Member], named: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for member in members {
        let mut schema = member.shape.json(named);
        if !member.doc.is_empty() {
            schema["description"] = json!(member.doc);
        }
        properties.insert(member.name.to_owned(), schema);
    }
    let required: Vec<&str> = members.iter().filter(|m| m.is_required).map(|m| m.name).collect();
    let mut out = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        out["required"] = json!(required);
    }
    out
}

/// A query parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// The form of its text.
    pub shape: Shape,
    /// What it means, a sentence.
    pub doc: &'static str,
    /// Whether the route refuses a request without it.
    pub is_required: bool,
}

/// A query parameter that may be absent.
pub(crate) const fn parameter(name: &'static str, shape: Shape, doc: &'static str) -> Parameter {
    Parameter { name, shape, doc, is_required: false }
}

impl Parameter {
    /// One that the route asks for.
    pub(crate) const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }
}

/// One of the answers that a route gives when it refuses nothing.
#[derive(Debug, Clone, Copy)]
pub struct Success {
    /// The status.
    pub status: u16,
    /// What it says, a few words.
    pub doc: &'static str,
    /// The body.
    pub content: Content,
}

/// The body of an answer.
#[derive(Debug, Clone, Copy)]
pub enum Content {
    /// None.
    Empty,
    /// A JSON value.
    Json(Shape),
    /// Bytes of one of these media types.
    Bytes(&'static [&'static str]),
    /// A page for people.
    Page,
}

/// The answer 200 with a JSON body.
pub(crate) const fn returns(shape: Shape, doc: &'static str) -> Success {
    Success { status: 200, doc, content: Content::Json(shape) }
}

/// The answer 201 with a JSON body.
pub(crate) const fn creates(shape: Shape, doc: &'static str) -> Success {
    Success { status: 201, doc, content: Content::Json(shape) }
}

/// An answer without a body.
pub(crate) const fn returns_nothing(status: u16, doc: &'static str) -> Success {
    Success { status, doc, content: Content::Empty }
}

/// The answer 200 with bytes.
pub(crate) const fn returns_bytes(kinds: &'static [&'static str], doc: &'static str) -> Success {
    Success { status: 200, doc, content: Content::Bytes(kinds) }
}

/// The answer 200 with a page for people.
pub(crate) const fn returns_page(doc: &'static str) -> Success {
    Success { status: 200, doc, content: Content::Page }
}

impl Success {
    /// The OpenAPI response object.
    pub(crate) fn json(&self, named: &mut Map<String, Value>) -> Value {
        let content = match self.content {
            Content::Empty => return json!({"description": self.doc}),
            Content::Json(shape) => json!({"application/json": {"schema": shape.json(named)}}),
            Content::Page => json!({"text/html": {"schema": {"type": "string"}}}),
            Content::Bytes(kinds) => {
                let kinds = kinds.iter().map(|kind| ((*kind).to_owned(), json!({})));
                Value::Object(kinds.collect())
            }
        };
        json!({"description": self.doc, "content": content})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_form_is_written_once_however_often_it_is_named() {
        static NODE: Named = Named {
            name: "Node",
            doc: "A node.",
            shape: Shape::Object(&[must("id", Shape::Text, "Its name.")]),
        };
        const FORM: Shape = Shape::Named(&NODE);
        const PAIR: Shape =
            Shape::Object(&[must("from", FORM, ""), may("to", Shape::Nullable(&FORM), "")]);
        let mut named = Map::new();
        let schema = PAIR.json(&mut named);
        assert_eq!(schema["properties"]["from"]["$ref"], "#/components/schemas/Node");
        assert_eq!(schema["required"], json!(["from"]));
        assert_eq!(named.len(), 1);
        assert_eq!(named["Node"]["properties"]["id"]["description"], "Its name.");
    }
}
