//! The JSON forms that several routes take or give.

use crate::schema::Shape::{
    Any, Bool, Count, Either, List, Map, Named as Ref, Nullable, Object, OneOf, Text, True,
};
use crate::schema::{Member, Named, Parameter, Shape, may, must, parameter};

/// Paging of lists.
pub(crate) const PAGING: &[Parameter] = &[
    parameter("limit", Count, "Entries of one page."),
    parameter("offset", Count, "Entries before the page."),
];

/// The token of [`Auth::Bearer`](crate::access::Auth::Bearer) routes, and who it belongs to.
pub(crate) const LOGIN: Shape = Object(&[
    must("token", Text, "The JWT."),
    must(
        "user",
        Object(&[
            must("name", Text, "Name for people."),
            must("username", Text, "Login name."),
            must("email", Text, "Mail address, may be empty."),
            must("id", Count, "Number of the account."),
        ]),
        "The account.",
    ),
    must("pk", Count, "Number of the account, again."),
    must(
        "active_organization",
        Object(&[
            must("slug", Text, "Name in addresses."),
            must("is_found", Bool, "Whether it exists."),
            must("is_member", Bool, "Whether the account belongs to it."),
        ]),
        "The organization that the token acts in.",
    ),
]);

/// `{"status": "OK"}` with a message.
pub(crate) const STATUS: Shape = Object(&[
    must("status", OneOf(&["OK"]), ""),
    must("message", Text, "What was done."),
    must("data", Any, "What is told besides; an empty list or object where nothing is."),
]);

/// [`graphlume_types::Notice`].
pub(crate) const NOTICES: Shape = List(&Ref(&NOTICE));
static NOTICE: Named = Named {
    name: "Notice",
    doc: "Something that was asked for and not done, or done in another way.",
    shape: Object(&[
        must("slug", Text, "Name of its kind."),
        must("text", Text, "What was asked for, what was done, and the remedy."),
        must("count", Count, "How many rows, nodes or values it is about."),
    ]),
};

/// One record of the list of files.
pub(crate) const FILE: Shape = Ref(&FILE_RECORD);
static FILE_RECORD: Named = Named {
    name: "File",
    doc: "An uploaded file and how it was parsed.",
    shape: Object(&[
        must("file_id", Text, "Its id."),
        must("name", Text, "May be empty."),
        must("description", Text, "May be empty."),
        must("file_type", Text, "The declared format."),
        must("file_compression", Text, "The declared compression; empty for none."),
        must("parser_options", Map(&Any), "Options of the parser."),
        must("sql_transforms", Any, "SQL that runs over the parsed table, or null."),
        must("author", Count, "Number of the owner's account."),
        must("agent_name", Text, "The program that uploaded it."),
        must("agent_version", Text, "Its version."),
        must("bytes_count", Nullable(&Count), "Bytes; null while there are none."),
        must("created_at", Text, "ISO 8601."),
        must("updated_at", Text, "ISO 8601."),
        must("is_uploaded", Bool, "Whether bytes are kept."),
        must("is_valid", Bool, "Whether they could be parsed."),
        must("errors", Any, "What the parser complained of; empty when nothing."),
        must("tables_schemas", Any, "A schema for each table."),
        must("org_name", Text, "Its organization."),
        must("notices", NOTICES, "Options without effect."),
        may("progress", Map(&Any), "How far an upload is, while there is one."),
    ]),
};

/// What a client may send to create a file or to change how it is parsed.
pub(crate) const PARSING: [Member; 7] = [
    may("name", Nullable(&Text), "Name for people."),
    may("description", Nullable(&Text), "Description for people."),
    may("agent_name", Nullable(&Text), "The program that uploads."),
    may("agent_version", Nullable(&Text), "Its version."),
    may("file_compression", Nullable(&Text), "Compression of the bytes; empty for none."),
    may("parser_options", Nullable(&Map(&Any)), "Options of the parser, as the formats have them."),
    may("sql_transforms", Any, "SQL over the parsed table: a text or a list of texts."),
];

/// One record of the list of datasets.
pub(crate) const DATASET: Shape = Ref(&DATASET_RECORD);
static DATASET_RECORD: Named = Named {
    name: "Dataset",
    doc: "A graph: files, and which of their columns are ids, ends and attributes.",
    shape: Object(&[
        must("dataset_id", Text, "Its id."),
        must("name", Text, "Name for people."),
        must("author", Count, "Number of the owner's account."),
        must("node_count", Nullable(&Count), "Nodes; null until the graph was built."),
        must("edge_count", Nullable(&Count), "Edges; null until the graph was built."),
        must("agent_name", Nullable(&Text), "The program that made it."),
        must("agent_version", Nullable(&Text), "Its version."),
        must("description", Text, "May be empty."),
        must("image", Text, "As sent at its creation; empty for none."),
        must("slug", Nullable(&Text), "As sent at its creation."),
        must("uri_tag", Nullable(&Text), "As sent at its creation."),
        must("created_at", Text, "ISO 8601."),
        must("updated_at", Text, "ISO 8601."),
        must("node_files", Any, "Ids of the files of its nodes."),
        must("edge_files", Any, "Ids of the files of its edges."),
        must("node_encodings", Any, "Bindings and encodings of nodes."),
        must("edge_encodings", Any, "Bindings and encodings of edges."),
        must("metadata", Any, "As sent at its creation."),
        must("org_name", Text, "Its organization."),
        must(
            "privacy",
            Nullable(&Map(&Any)),
            "How it is shared: mode, mode_action and more; null until it is set.",
        ),
        must("notices", NOTICES, "What is not shown as asked."),
    ]),
};

/// The body that creates a dataset.
pub(crate) static NEW_DATASET: Named = Named {
    name: "NewDataset",
    doc: "Files, bindings and encodings of a graph.",
    shape: Object(&DATASET_FIELDS),
};
/// The same with `compute`.
pub(crate) static NEW_COMPUTED_DATASET: Named = Named {
    name: "NewComputedDataset",
    doc: "Files, bindings and encodings of a graph, and algorithms to run over it.",
    shape: Object(&{
        let mut members = [DATASET_FIELDS[0]; DATASET_FIELDS.len() + 1];
        let mut i = 0;
        while i < DATASET_FIELDS.len() {
            members[i] = DATASET_FIELDS[i];
            i += 1;
        }
        members[DATASET_FIELDS.len()] = may(
            "compute",
            Nullable(&Map(&Any)),
            "By the name of the result: libraries, alg, params and, of cuGraph, kind of graph; GET /api/v1/datasets/ lists them.",
        );
        members
    }),
};

/// A file, or one of its tables.
const FILES: Shape = List(&Either(&[Text, List(&Any)]));
const DATASET_FIELDS: [Member; 15] = [
    must("name", Text, "Name for people."),
    must("metadata", Map(&Any), "Kept as it is."),
    must("node_encodings", Map(&Any), "bindings: {node, ...}, and complex encodings."),
    must(
        "edge_encodings",
        Map(&Any),
        "bindings: {source, destination, ...}, and complex encodings.",
    ),
    may("node_files", FILES, "Ids of files, or [id, number of the table]."),
    may("edge_files", FILES, "Ids of files, or [id, number of the table]."),
    may("edge_hypergraph_transform", Any, "Makes a graph of rows of entities."),
    may(
        "layout",
        Any,
        "By a name: libraries, alg and params of a layout that places the nodes; other forms are kept.",
    ),
    may("description", Nullable(&Text), "Description for people."),
    may("org_name", Nullable(&Text), "The organization; the active one when absent."),
    may("agent_name", Nullable(&Text), "The program that creates it."),
    may("agent_version", Nullable(&Text), "Its version."),
    may("slug", Nullable(&Text), "Kept, up to 1,024 characters; datasets are addressed by id."),
    may("uri_tag", Nullable(&Text), "Kept, up to 1,024 characters."),
    may(
        "image",
        Nullable(&Text),
        "Kept, up to 8,192 characters, such as the address of a preview.",
    ),
];

/// The answer to the creation of a dataset.
pub(crate) const CREATED_DATASET: Shape = Object(&[
    must(
        "data",
        Object(&[must("dataset_id", Text, "Its id."), must("notices", NOTICES, "")]),
        "The new dataset.",
    ),
    must("message", Text, "What was done, with warnings."),
    must("success", True, ""),
]);

/// One page of a list of `results`.
macro_rules! list_of {
    ($results:expr) => {
        $crate::schema::Shape::Object(&[
            $crate::schema::must("count", $crate::schema::Shape::Count, "Entries of all pages."),
            $crate::schema::must(
                "next",
                $crate::schema::Shape::Nullable(&$crate::schema::Shape::Text),
                "Address of the next page.",
            ),
            $crate::schema::must(
                "previous",
                $crate::schema::Shape::Nullable(&$crate::schema::Shape::Text),
                "Address of the page before.",
            ),
            $crate::schema::must(
                "results",
                $crate::schema::Shape::List(&$results),
                "Newest first.",
            ),
        ])
    };
}
pub(crate) use list_of;

/// The state of a component.
pub(crate) const HEALTH: Shape = Ref(&HEALTH_STATE);
static HEALTH_STATE: Named = Named {
    name: "Health",
    doc: "The state of a component.",
    shape: Object(&[
        must("status", Text, "ok, or what is wrong."),
        must("component", Text, "Which one."),
        must("detail", Text, "What was found."),
    ]),
};

/// A live visualization.
pub(crate) const SESSION: Shape = Ref(&SESSION_STATE);
static SESSION_STATE: Named = Named {
    name: "Session",
    doc: "A live visualization.",
    shape: Object(&[
        must("session_id", Text, "Its id, as session= of the page's address."),
        must(
            "revision",
            Object(&[
                must("revision_id", Text, "The revision of the dataset."),
                must("dataset", Object(&[must("dataset_id", Text, "")]), "The dataset."),
            ]),
            "What it shows.",
        ),
    ]),
};

/// A personal key.
pub(crate) const KEY: Shape = Ref(&KEY_RECORD);
static KEY_RECORD: Named = Named {
    name: "PersonalKey",
    doc: "A key that programs sign in with.",
    shape: Object(&[
        must("key_id", Text, "The public half."),
        may("secret", Text, "The other half, told once."),
        must("label", Text, "What its owner called it."),
        must("created_at", Text, "ISO 8601."),
        must("revoked_at", Nullable(&Text), "ISO 8601; null for a key that works."),
    ]),
};
