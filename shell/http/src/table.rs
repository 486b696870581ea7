//! The rows of the route table.

use http::Method;

use crate::route::{Auth, BodyKind, Endpoint, Listener, MAGIC_LOGIN, Route, Slash};

/// A row with the common values: written slash form, no query, public listener.
const fn row(
    method: Method,
    path: &'static str,
    auth: Auth,
    body: BodyKind,
    endpoint: Endpoint,
    doc: &'static str,
) -> Route {
    Route {
        method,
        path,
        slash: Slash::Exact,
        auth,
        body,
        query: &[],
        listener: Listener::Public,
        endpoint,
        doc,
    }
}

impl Route {
    /// Both slash forms.
    const fn either(mut self) -> Self {
        self.slash = Slash::Either;
        self
    }

    /// The query parameters, for the documentation.
    const fn query(mut self, names: &'static [&'static str]) -> Self {
        self.query = names;
        self
    }

    /// Served on the second listener.
    const fn internal(mut self) -> Self {
        self.listener = Listener::Internal;
        self
    }
}

/// A row without a body.
const fn get(path: &'static str, auth: Auth, endpoint: Endpoint, doc: &'static str) -> Route {
    row(Method::GET, path, auth, BodyKind::None, endpoint, doc)
}

/// A health route.
const fn health(path: &'static str, endpoint: Endpoint, doc: &'static str) -> Route {
    get(path, Auth::Public, endpoint, doc)
}

use Auth::{Bearer, Credentials, PersonalKey, Public, Switch, Tool, Viewer};
use BodyKind::{Form, Json, OptionalJson, Raw};
use Endpoint as E;

/// Paging parameters.
const PAGE: &[&str] = &["limit", "offset"];

/// Every route of the server.
pub static ROUTES: &[Route] = &[
    // Health comes first: it is asked most often, and matching is in order.
    health("/healthz", E::HealthStatic, "Health of the front listener and the static files."),
    health("/caddy/health/", E::HealthProxy, "Liveness of the front listener."),
    health("/ht/", E::HealthContent, "Health of accounts, files and datasets."),
    health("/streamgl-viz/health", E::HealthViz, "Health of the visualization tier."),
    health(
        "/streamgl-gpu/primary/health",
        E::HealthGpuController,
        "Health of the controller of the computing device.",
    ),
    health(
        "/streamgl-gpu/secondary/cpu/health",
        E::HealthCpuWorker,
        "200 when at least one CPU worker is ready.",
    ),
    health(
        "/streamgl-gpu/secondary/gpu/health",
        E::HealthGpuWorker,
        "200 when at least one GPU worker has a healthy context and is ready.",
    ),
    health("/streamgl-sessions/health", E::HealthSessions, "Health of the session manager."),
    health("/pivot/health", E::HealthPivot, "Health of the investigation service."),
    health("/healthcheck/", E::HealthAll, "Health of everything that serves clients."),
    // Tokens.
    row(
        Method::POST,
        "/api-token-auth/",
        Credentials,
        Json,
        E::Login,
        "Signs in with username and password.",
    ),
    row(
        Method::POST,
        "/api/v2/auth/token/generate",
        Credentials,
        Json,
        E::Login,
        "Signs in with username and password.",
    ),
    row(
        Method::GET,
        "/api/v2/auth/pkey/jwt/",
        PersonalKey,
        OptionalJson,
        E::PersonalKeyLogin,
        "Signs in with a personal key; the body may name an organization.",
    )
    .query(&["org_name"]),
    row(
        Method::POST,
        "/api/v2/auth/pkey/jwt/",
        PersonalKey,
        OptionalJson,
        E::PersonalKeyLogin,
        "Signs in with a personal key; the body may name an organization.",
    )
    .query(&["org_name"]),
    row(
        Method::POST,
        "/api/v2/auth/token/refresh",
        Credentials,
        Json,
        E::Refresh,
        "Exchanges a valid token for a fresh one.",
    ),
    row(
        Method::POST,
        "/api-token-refresh/",
        Credentials,
        Json,
        E::Refresh,
        "Exchanges a valid token for a fresh one.",
    ),
    row(
        Method::POST,
        "/api-token-verify/",
        Credentials,
        Json,
        E::Verify,
        "Tells whether a token is valid.",
    ),
    row(
        Method::POST,
        "/api/v2/o/{slug}/switch/",
        Switch,
        Form,
        E::SwitchOrg,
        "Makes an organization the active one.",
    ),
    // The own account.
    row(
        Method::POST,
        "/api/v2/users/me/password/",
        Bearer,
        Json,
        E::OwnPassword,
        "Replaces the caller's password: old_password, new_password. Ends every login; answers a fresh token.",
    ),
    get("/api/v2/users/me/keys/", Bearer, E::OwnKeys, "Lists the caller's personal keys."),
    row(
        Method::POST,
        "/api/v2/users/me/keys/",
        Bearer,
        OptionalJson,
        E::OwnKeyCreate,
        "Makes a personal key; the body may give a label. Its secret is in this answer alone.",
    ),
    row(
        Method::DELETE,
        "/api/v2/users/me/keys/{key_id}/",
        Bearer,
        BodyKind::None,
        E::OwnKeyRevoke,
        "Revokes a personal key of the caller's and ends the tokens made with it.",
    ),
    // Guests.
    get(
        "/api/v2/generate/single-use-url/",
        Bearer,
        E::MintLink,
        "Mints a login link for a guest and one dataset; for staff and superusers.",
    )
    .query(&["username", "dataset_id"]),
    get(MAGIC_LOGIN, Public, E::MagicLogin, "Signs in with a login link and goes on to its graph.")
        .query(&["sst"]),
    get(
        "/api/v2/logout-user/{username}/",
        Bearer,
        E::LogoutUser,
        "Ends all access of a user at once; for staff and superusers.",
    ),
    get(
        "/api/v2/logout-user/username/{username}/",
        Bearer,
        E::LogoutUser,
        "Ends all access of a user at once; for staff and superusers.",
    ),
    // Files.
    get("/api/v2/files/", Bearer, E::FilesList, "Lists files, newest first.").query(PAGE),
    row(Method::POST, "/api/v2/files/", Bearer, Json, E::FileCreate, "Creates a file record."),
    get("/api/v2/files/{file_id}", Bearer, E::FileGet, "Returns one file record.").either(),
    row(
        Method::DELETE,
        "/api/v2/files/{file_id}",
        Bearer,
        BodyKind::None,
        E::FileDelete,
        "Deletes a file.",
    )
    .either(),
    row(
        Method::POST,
        "/api/v2/upload/files/{file_id}",
        Bearer,
        Raw,
        E::FileUpload,
        "Uploads the bytes of a file and parses them.",
    )
    .query(&["erase"]),
    row(
        Method::PATCH,
        "/api/v2/upload/files/{file_id}/",
        Bearer,
        Json,
        E::FilePatch,
        "Changes how a file is parsed and parses it again.",
    )
    .either(),
    // Datasets.
    get("/api/v2/datasets/", Bearer, E::DatasetsList, "Lists datasets, newest first.").query(PAGE),
    get("/api/v2/datasets/{dataset_id}", Bearer, E::DatasetGet, "Returns one dataset.").either(),
    row(
        Method::DELETE,
        "/api/v2/datasets/{dataset_id}",
        Bearer,
        BodyKind::None,
        E::DatasetDelete,
        "Deletes a dataset.",
    )
    .either(),
    row(
        Method::POST,
        "/api/v2/upload/datasets/",
        Bearer,
        Json,
        E::DatasetCreate,
        "Creates a dataset that binds columns to graph roles.",
    ),
    get("/api/v2/upload/datasets/{dataset_id}", Bearer, E::DatasetGet, "Returns one dataset."),
    row(
        Method::POST,
        "/api/v2/upload/datasets/{dataset_id}/nodes/{format}",
        Bearer,
        Raw,
        E::DirectNodes,
        "Uploads the node table of a dataset; parse options are query parameters.",
    ),
    row(
        Method::POST,
        "/api/v2/upload/datasets/{dataset_id}/edges/{format}",
        Bearer,
        Raw,
        E::DirectEdges,
        "Uploads the edge table of a dataset; parse options are query parameters.",
    ),
    row(
        Method::POST,
        "/api/v2/etl/datasets/{dataset_id}/gfql/{output_type}",
        Bearer,
        Json,
        E::DatasetQuery,
        "Answers a GFQL query: all, nodes, edges or shape, as json, csv or parquet.",
    )
    .either(),
    row(
        Method::POST,
        "/api/v2/etl/datasets/{dataset_id}/gfql",
        Bearer,
        Json,
        E::DatasetQueryAll,
        "Answers a GFQL query with nodes and edges.",
    )
    .either(),
    row(
        Method::POST,
        "/api/v2/datasets/{dataset_id}/gfql/{output_type}",
        Bearer,
        Json,
        E::DatasetQuery,
        "Answers a GFQL query at the address that older clients use.",
    )
    .either(),
    row(
        Method::POST,
        "/api/v2/datasets/{dataset_id}/gfql",
        Bearer,
        Json,
        E::DatasetQueryAll,
        "Answers a GFQL query with nodes and edges at the older address.",
    )
    .either(),
    row(
        Method::POST,
        "/api/v2/datasets/{dataset_id}/python",
        Bearer,
        Json,
        E::DatasetPython,
        "Refuses to run Python code.",
    )
    .either(),
    get(
        "/api/v1/datasets/",
        Public,
        E::DatasetSchema,
        "Lists the algorithms and layouts of the interface by library.",
    ),
    get(
        "/web/api/v1/datasets/",
        Public,
        E::DatasetSchema,
        "Lists the algorithms and layouts of the interface by library.",
    ),
    row(
        Method::POST,
        "/api/v1/datasets/",
        Bearer,
        Json,
        E::ComputedDatasetCreate,
        "Creates a dataset and names algorithms whose results become columns of its nodes.",
    ),
    row(
        Method::POST,
        "/api/v2/share/link/",
        Bearer,
        Json,
        E::ShareLink,
        "Sets who may see a dataset.",
    ),
    // Live sessions.
    get(
        "/api/experimental/viz/sessions/",
        Bearer,
        E::SessionsList,
        "Lists the caller's live visualizations; administrators see everybody's with all=true.",
    )
    .query(&["all"]),
    get(
        "/api/experimental/viz/sessions/{session_id}/",
        Bearer,
        E::SessionGet,
        "Returns one live visualization.",
    ),
    get("/viz/{session_id}/ws", Viewer, E::VizSocket, "The live stream of a visualization.")
        .query(&["dataset"]),
    get(
        "/viz/{session_id}/about",
        Viewer,
        E::VizAbout,
        "Name, description and size of the graph, which is not loaded for it.",
    )
    .query(&["dataset"]),
    get("/viz/{session_id}/node/{index}", Viewer, E::VizNode, "The card of one node.")
        .query(&["dataset"]),
    get(
        "/viz/{session_id}/names",
        Viewer,
        E::VizNames,
        "The names of some nodes, by their indices with commas between, at most 200.",
    )
    .query(&["nodes", "dataset"]),
    get("/viz/{session_id}/edge/{index}", Viewer, E::VizEdge, "The card of one edge.")
        .query(&["dataset"]),
    get("/viz/{session_id}/search", Viewer, E::VizSearch, "Finds nodes by label or id.")
        .query(&["q", "limit", "dataset"]),
    get(
        "/viz/{session_id}/graph",
        Viewer,
        E::VizGraph,
        "What the live stream tells before its frames, as far as it is known: state, graph, legend, collections.",
    )
    .query(&["dataset"]),
    get(
        "/viz/{session_id}/scene/{index}",
        Viewer,
        E::VizScene,
        "A frame of colours, sizes or labels, by its number from 0.",
    )
    .query(&["dataset"]),
    get("/viz/{session_id}/frame", Viewer, E::VizFrame, "The next position frame, by long poll.")
        .query(&["after", "dataset"]),
    get(
        "/viz/{session_id}/{epoch}/edges.bin",
        Viewer,
        E::VizEdges,
        "All edges as pairs of u32 node indices, little-endian, in drawn order.",
    )
    .query(&["dataset"]),
    get(
        "/viz/{session_id}/{epoch}/positions.bin",
        Viewer,
        E::VizPositions,
        "All positions as one frame of 32-bit floats.",
    )
    .query(&["dataset"]),
    // The tool endpoint.
    row(
        Method::POST,
        "/mcp",
        Tool,
        Json,
        E::ToolMessage,
        "One JSON-RPC message of an agent: initialize or server/discover, tools/list, tools/call, \
         resources/list, resources/read, notifications.",
    ),
    get("/mcp", Tool, E::ToolStream, "The event stream of an agent's connection, held open."),
    row(Method::DELETE, "/mcp", Tool, BodyKind::None, E::ToolClose, "Ends an agent's connection."),
    get(
        "/mcp/manifest.json",
        Public,
        E::ToolManifest,
        "What agents find at /mcp: version, transport, revisions of the protocol, tools.",
    ),
    // Pages.
    get("/", Public, E::StartPage, "The start page."),
    get("/login", Public, E::SignInPage, "The form to sign in with; next is where it leads.")
        .query(&["next"]),
    row(
        Method::POST,
        "/login",
        Public,
        Form,
        E::SignIn,
        "Signs a browser in with username and password and goes on to next.",
    )
    .query(&["next"]),
    row(Method::POST, "/logout", Public, Form, E::SignOut, "Ends the browser's login.")
        .query(&["next"]),
    get("/graph/graph.html", Viewer, E::GraphPage, "The page of a visualization.")
        .query(&["dataset", "session", "workbook"]),
    get("/graph/{*path}", Public, E::GraphAsset, "The files of the page."),
    get("/favicon.ico", Public, E::Favicon, "The mark that browsers show beside the title."),
    get("/openapi.json", Public, E::OpenApi, "This table as an OpenAPI document."),
    // Removed long ago; old clients deserve a clear word.
    row(Method::POST, "/etl", Public, Raw, E::LegacyGone, "Removed: use /api/v2/upload/datasets/.")
        .either(),
    get("/etl", Public, E::LegacyGone, "Removed: use /api/v2/upload/datasets/.").either(),
    get("/api/check", Public, E::LegacyGone, "Removed: use /api-token-verify/.").either(),
    // The internal listener.
    get("/check-workers", Public, E::CheckWorkers, "Details of each worker.").internal(),
    get("/metrics", Public, E::Metrics, "Counters for Prometheus, as text or OpenMetrics.")
        .internal(),
    health("/healthz", E::HealthStatic, "Health of the listener.").internal(),
];
