//! Every limit of the product. A limit that a user can meet is named in the error that refuses.

/// Bytes of one uploaded body.
pub const UPLOAD_BYTES_MAX: u64 = 4 << 30;
/// Files of one account, unless the server is told otherwise.
pub const FILES_PER_USER_MAX: u64 = 10_000;
/// Bytes of uploads of one account with the tables made of them, unless the server is told otherwise.
pub const BYTES_PER_USER_MAX: u64 = 100 << 30;
/// Bytes of a JSON request body that is not an upload.
pub const JSON_BODY_BYTES_MAX: u64 = 1 << 20;
/// Nesting depth of JSON.
pub const JSON_DEPTH_MAX: usize = 64;
/// Rows of one table.
pub const ROWS_MAX: u64 = 100_000_000;
/// Columns of one table.
pub const COLUMNS_MAX: usize = 4_096;
/// Pairs of columns that a direct hypergraph joins.
pub const HYPERGRAPH_PAIRS_MAX: usize = 65_536;
/// Bytes of one cell of text.
pub const CELL_BYTES_MAX: usize = 1 << 20;
/// Bytes of a decompressed table.
pub const DECOMPRESSED_BYTES_MAX: u64 = 16 << 30;
/// Queries of one file's `sql_transforms`.
pub const SQL_QUERIES_MAX: usize = 16;
/// Characters of one such query.
pub const SQL_CHARS_MAX: usize = 20_000;
/// Bytes that any compressed data may expand to, however small it is.
pub const DECOMPRESSED_BYTES_FREE: u64 = 64 << 20;
/// Plain bytes for each compressed byte, on top of [`DECOMPRESSED_BYTES_FREE`].
pub const DECOMPRESSION_RATIO_MAX: u64 = 200;
/// Memory that unpacking an xz file may take: its dictionary and a little more.
pub const XZ_MEMORY_BYTES_MAX: u64 = 256 << 20;
/// Entries of a zip archive, also of the one that a workbook is.
pub const ZIP_ENTRIES_MAX: usize = 10_000;
/// Cells of a workbook, empty ones between others included.
pub const WORKBOOK_CELLS_MAX: u64 = 1 << 25;
/// Sheets of a workbook.
pub const WORKBOOK_SHEETS_MAX: usize = 256;
/// Shared texts of a workbook.
pub const WORKBOOK_TEXTS_MAX: u64 = 4_000_000;
/// Elements of the styles of a workbook.
pub const WORKBOOK_STYLE_TAGS_MAX: u64 = 1_000_000;
/// Bytes of an Excel 97 workbook.
pub const XLS_BYTES_MAX: u64 = 256 << 20;
/// Cells that the sheets of an xls workbook span together, empty ones included, as many as one full sheet
/// has; formulas count again.
pub const XLS_CELLS_MAX: u64 = 65_536 * 256;
/// Parse errors reported for one file.
pub const PARSE_ERRORS_MAX: usize = 100;
/// Characters of a name given by a user.
pub const NAME_CHARS_MAX: usize = 1_024;
/// Characters of a description.
pub const DESCRIPTION_CHARS_MAX: usize = 65_536;
/// Characters of the image of a dataset, which is an address or a small picture as one.
pub const IMAGE_CHARS_MAX: usize = 8_192;
/// Bytes of the header block of a request.
pub const HEADER_BYTES_MAX: usize = 16 << 10;
/// Bytes of a request target.
pub const URI_BYTES_MAX: usize = 8 << 10;
/// Bytes of the target of the page, whose `collections` may be long: what the HTTP library reads at most.
pub const PAGE_URI_BYTES_MAX: usize = (64 << 10) - 2;
/// Requests in progress at once.
pub const REQUESTS_IN_FLIGHT_MAX: usize = 512;
/// Open connections.
pub const CONNECTIONS_MAX: usize = 8_192;
/// Open connections of one address; many people may share one behind a proxy.
pub const CONNECTIONS_PER_PEER_MAX: usize = 1_024;
/// Seconds within which a client must have sent its header block.
pub const HEADER_SECS_MAX: u64 = 10;
/// Seconds that an upload may stall between two pieces.
pub const BODY_IDLE_SECS_MAX: u64 = 30;
/// Seconds that an idle connection is kept.
pub const KEEP_ALIVE_SECS: u64 = 75;
/// Least bytes per second of a body, measured over [`BODY_IDLE_SECS_MAX`].
pub const BODY_BYTES_PER_SEC_MIN: u64 = 1 << 10;
/// Seconds that a client may leave our bytes unread.
pub const WRITE_STALL_SECS_MAX: u64 = 60;
/// Least bytes per second at which a client takes an answer, measured over [`ANSWER_WINDOW_SECS`] of waiting
/// for it.
pub const ANSWER_BYTES_PER_SEC_MIN: u64 = 64 << 10;
/// Seconds of waiting for a client after which the rate of its reading is judged.
pub const ANSWER_WINDOW_SECS: u64 = 30;
/// Answers written out at once for each core: each uses one core.
pub const RENDERS_PER_CORE: usize = 1;
/// Bytes, as JSON, of each field of a file or a dataset whose form is the client's own: `metadata`,
/// encodings, `parser_options`, `sql_transforms` and members that have no meaning here.
pub const FREE_FIELD_BYTES_MAX: usize = 64 << 10;
/// Bytes, as JSON, of all those together that have no form of their own here: `metadata`, `layout`, `compute` and members
/// that have no meaning, of a dataset; `parser_options` and `sql_transforms`, of a file.
pub const FREE_MEMBERS_BYTES_MAX: usize = 64 << 10;
/// Lists that are read from the records and written out at once; others wait.
pub const LISTS_AT_ONCE_MAX: usize = 2;
/// Bytes of memory that a list may take while it is written out, beside the answer.
pub const LIST_MEMORY_BYTES: u64 = 4 * LIST_PAGE_BYTES_MAX as u64;
/// Bytes of JSON after which a page of a list ends and names the next one.
pub const LIST_PAGE_BYTES_MAX: usize = 4 << 20;
/// Messages that one viewer may send in a second.
pub const VIEWER_MESSAGES_PER_SEC_MAX: u32 = 100;
/// Seconds that requests in progress get when the server stops.
pub const DRAIN_SECS_MAX: u64 = 10;
/// Bytes of a refused body that are read and thrown away, so that the client sees the refusal.
pub const BODY_DISCARD_BYTES_MAX: u64 = 64 << 20;
/// Seconds between two pings to a viewer.
pub const VIEWER_PING_SECS: u64 = 20;
/// Seconds after which a silent viewer is dropped.
pub const VIEWER_SILENT_SECS_MAX: u64 = 60;
/// Seconds that a long poll for a frame is held open.
pub const LONG_POLL_SECS: u64 = 25;
/// Rows of a list page when the client names none.
pub const PAGE_ROWS_DEFAULT: u64 = 50;
/// Rows of a list page at most.
pub const PAGE_ROWS_MAX: u64 = 1_000;
/// Nodes of one graph: indices are 32 bits wide and the last value means "none".
pub const NODES_MAX: u64 = u32::MAX as u64 - 1;
/// Edges of one graph.
pub const EDGES_MAX: u64 = u32::MAX as u64 - 1;
/// Live visualization sessions of one process.
pub const SESSIONS_MAX: usize = 4_096;
/// Of them those of callers who have not signed in: past it the oldest of these is forgotten, and none of an account.
pub const SESSIONS_OF_NOBODY_MAX: usize = 1_024;
/// Bytes of memory that what such callers' addresses bring along takes together, as far as it can be told.
pub const SESSIONS_OF_NOBODY_BYTES_MAX: usize = 64 << 20;
/// Threads that a user may ask for.
pub const THREADS_MAX: usize = 1_024;
/// Viz sessions remembered for one account; past it the oldest is forgotten.
pub const SESSIONS_PER_USER_MAX: u64 = 100;
/// Viewers of one session.
pub const VIEWERS_PER_SESSION_MAX: usize = 1_024;
/// Bytes of a message that a viewer sends.
pub const VIEWER_MESSAGE_BYTES_MAX: usize = 64 << 10;
/// Position frames that a viewer may have unacknowledged.
pub const FRAMES_UNACKED_MAX: usize = 2;
/// Commands waiting in the control queue.
pub const CONTROL_QUEUE_MAX: usize = 256;
/// Commands waiting in the interactive queue.
pub const INTERACTIVE_QUEUE_MAX: usize = 1_024;
/// Commands waiting in the batch queue.
pub const BATCH_QUEUE_MAX: usize = 128;
/// Password hashes computed at once; each takes 19 MiB and one core.
pub const PASSWORD_HASHES_MAX: usize = 2;
/// Password checks waiting.
pub const PASSWORD_QUEUE_MAX: usize = 32;
/// Bytes of a password.
pub const PASSWORD_BYTES_MAX: usize = 1_024;
/// Characters of a new password at least. Those that are in force may be shorter.
pub const PASSWORD_CHARS_MIN: usize = 8;
/// Bytes of a command that the command line sends to a running server.
pub const CONTROL_COMMAND_BYTES_MAX: usize = 64 << 10;
/// Seconds that such a command may take to arrive, and its answer to be read.
pub const CONTROL_COMMAND_SECS_MAX: u64 = 10;
/// Commands of the command line that a running server carries out at once; others wait.
pub const CONTROL_COMMANDS_MAX: usize = 4;
/// Failed logins of one account from one address, or from one known browser, within
/// [`LOGIN_FAILURE_WINDOW_SECS`] before further ones from there are refused; and of one account from
/// everywhere before further ones are slowed down.
pub const LOGIN_FAILURES_MAX: u32 = 10;
/// Failed logins from one address within the window, whatever the account, before further ones are slowed
/// down; many people may share one address.
pub const LOGIN_FAILURES_PER_PEER_MAX: u32 = 100;
/// Seconds between two logins that are slowed down.
pub const LOGIN_PACE_SECS: u64 = 1;
/// Seconds that a slowed login waits at most; one that would wait longer is refused.
pub const LOGIN_WAIT_SECS_MAX: u64 = 5;
/// Days for which an address or a browser that signed in to an account counts as known to it.
pub const LOGIN_KNOWN_DAYS: i64 = 30;
/// Accounts, addresses and browsers whose failures are counted at once, and pairs of account and address
/// that are known.
pub const LOGIN_THROTTLE_KEYS_MAX: usize = 16_384;
/// Bytes of the form or the JSON body of a login, and of one that names a key or a token: many may wait for a hash.
pub const LOGIN_BODY_BYTES_MAX: u64 = 16 << 10;
/// Bytes of the address that a person is sent on to after signing in.
pub const NEXT_BYTES_MAX: usize = 8 << 10;
/// Window of the failure count.
pub const LOGIN_FAILURE_WINDOW_SECS: i64 = 900;
/// Life of a token.
pub const TOKEN_SECS: i64 = 3_600;
/// Bytes of a token.
pub const TOKEN_BYTES_MAX: usize = 4_096;
/// Tokens whose switched organization is remembered.
pub const TOKEN_ORGS_MAX: usize = 16_384;
/// Tokens whose signature is known to be genuine without another look.
pub const TOKENS_KNOWN_MAX: usize = 4_096;
/// Characters of an account name or of an organization's slug.
pub const USERNAME_CHARS_MAX: usize = 150;
/// Uploaded bodies parsed at once; each uses every core.
pub const PARSES_IN_PROGRESS_MAX: usize = 4;
/// The most of them of one account; further ones of it wait, and let those of others go first.
pub const PARSES_OF_ACCOUNT_MAX: usize = 2;
/// Processor time of a parse worker in its whole life, in times of what one parse may take on all its threads. A
/// worker that has less than one of them left gets no further job.
pub const PARSE_WORKER_PARSES_OF_CPU: u64 = 2;
/// Files of one dataset and role.
pub const FILES_PER_DATASET_MAX: usize = 64;
/// Datasets that hold one file and are looked at when an account that may not read the file names it in a dataset of
/// its own: it gets the tables that one of these shows it.
pub const HOLDERS_LOOKED_AT_MAX: usize = 1_024;
/// Algorithms that one dataset names.
pub const COMPUTE_COLUMNS_MAX: usize = 64;
/// People invited to one dataset.
pub const INVITED_USERS_MAX: usize = 256;
/// Time after the login during which a token may be exchanged for a fresh one.
pub const TOKEN_REFRESH_SECS: i64 = 86_400;
/// Age at which a single-use login link is refused, unless `SESAME_MAX_AGE` says otherwise.
pub const SESAME_MAX_AGE_SECS: i64 = 3_600;
/// The largest `SESAME_MAX_AGE`.
pub const SESAME_MAX_AGE_SECS_MAX: i64 = 10 * 365 * 86_400;
/// Characters of the query parameter that carries a login link's token.
pub const SESAME_TOKEN_NAME_CHARS_MAX: usize = 64;
/// Age at which the record of a login link is gone, whatever `SESAME_MAX_AGE` says.
pub const LINK_RECORD_SECS: i64 = 7 * 86_400;
/// Login links of one account, used ones that are still on record included.
pub const LINKS_PER_USER_MAX: u64 = 1_000;
/// Life of the login session that a link begins.
pub const LOGIN_SESSION_SECS: i64 = 86_400;
/// Login sessions of one account; past it the oldest ends.
pub const LOGINS_PER_USER_MAX: u64 = 100;
/// Personal keys on record that an account may make for itself; past it the oldest revoked one goes.
pub const KEYS_PER_USER_MAX: usize = 100;
/// Collections of one session; past it the oldest is dropped.
pub const COLLECTIONS_MAX: usize = 10;
/// Characters of a collection's name.
pub const COLLECTION_NAME_CHARS_MAX: usize = 256;
/// Bytes of the expression of one collection.
pub const COLLECTION_EXPR_BYTES_MAX: usize = 256 << 10;
/// Seconds after which a visualization that no page has open counts as closed: a page that is loaded again,
/// or loses its connection for a moment, keeps its agents.
pub const PAGE_AWAY_SECS_MAX: u64 = 3;
/// Seconds for which a visualization whose page was asked for counts as open before its stream is.
pub const PAGE_OPENING_SECS_MAX: u64 = 15;
/// Days for which a visualization that is not opened is remembered.
pub const SESSION_IDLE_DAYS_MAX: i64 = 90;
/// Bytes of one message to the tool endpoint.
pub const TOOL_MESSAGE_BYTES_MAX: u64 = 1 << 20;
/// Seconds that a tool call may take.
pub const TOOL_CALL_SECS_MAX: u64 = 60;
/// Tool calls in progress of one connection of an agent.
pub const TOOL_CALLS_PER_AGENT_MAX: usize = 16;
/// Seconds after which an idle connection of an agent is forgotten.
pub const AGENT_IDLE_SECS_MAX: u64 = 1_800;
/// The same for a connection whose event stream is held open: a stream is no use of it.
pub const AGENT_STREAM_SECS_MAX: u64 = 28_800;
/// Connections of agents that the server remembers.
pub const AGENTS_MAX: usize = 1_000;
/// Connections of agents of one account, and of one address as long as they have shown no credential.
pub const AGENTS_PER_HOLDER_MAX: usize = 32;
/// Seconds between two signs of life on an event stream.
pub const EVENT_STREAM_BEAT_SECS: u64 = 15;
/// Datasets on one page of an agent's `resources/list`.
pub const RESOURCES_PAGE_MAX: u64 = 100;
/// Datasets that an empty `list_sessions` names.
pub const HINT_DATASETS_MAX: u64 = 5;
/// Milliseconds for which agents may keep what is the same for every account.
pub const PUBLIC_TTL_MS: u64 = 3_600_000;
/// Rows that `query_graph` returns.
pub const TOOL_ROWS_MAX: usize = 50;
/// Rows that `query_graph` returns when the query names no columns.
pub const TOOL_WHOLE_ROWS_MAX: usize = 20;
/// Characters of one text in a row that `query_graph` returns.
pub const TOOL_CELL_CHARS_MAX: usize = 2_000;
/// Column names of each table that `get_session_info` lists.
pub const TOOL_COLUMNS_MAX: usize = 120;
/// Milliseconds after which the positions of a layout that moves are written down again. A crash may cost
/// five seconds of motion; the rest of them is for the writing.
pub const POSITIONS_KEEP_MILLIS: u64 = 4_000;
/// Sessions whose positions are kept on the disk; past it those written longest ago go first.
pub const SNAPSHOTS_MAX: usize = 4_096;
/// Bytes of all kept positions, 8 for each node and 12 in space; past it those written longest ago go first.
pub const SNAPSHOT_BYTES_MAX: u64 = 4 << 30;
/// Bytes of what is kept with the positions of one session: settings of the layout and pinned nodes.
pub const SNAPSHOT_NOTES_BYTES_MAX: u32 = 1 << 20;
/// Seconds that a server which is told to stop gives to the last positions.
pub const SUSPEND_SECS_MAX: u64 = 5;
/// Different keys of the maps in one column that a query makes; with more of them the column is one of texts.
pub const COLUMN_KEYS_MAX: usize = 256;
/// Regular expressions that a query, or the address of a page, may have.
pub const QUERY_PATTERNS_MAX: usize = 32;
/// Bytes of the compiled regular expressions of one query together; one of Cypher's `=~` may take as much.
pub const PATTERN_BYTES_MAX: usize = 512 << 10;
/// Compiled regular expressions that are kept for the next query.
pub const PATTERNS_CACHED_MAX: usize = 16;
/// Rows of the tables of a dataset whose rows are looked at for the answer to its creation or to an upload into it; of
/// larger ones the answer says what names and types tell, and the record what the rows do, once the graph is built.
pub const PREVIEW_ROWS_MAX: u64 = 100_000;
/// Bytes of these tables.
pub const PREVIEW_BYTES_MAX: u64 = 16 << 20;
/// Notices that an answer carries: what was asked for and not done.
pub const NOTICES_MAX: usize = 100;
/// Nodes whose names a page asks for at once.
pub const NAMES_ASKED_MAX: usize = 200;
/// Iterations that a layout may be asked for.
pub const LAYOUT_ITERATIONS_MAX: u64 = 1_000_000;
/// Milliseconds that a layout plays when the page's address does not say.
pub const PLAY_MILLIS_DEFAULT: u64 = 5_000;
/// Nodes and edges that a second of play stands for: iterations times the size of the graph.
pub const PLAY_ELEMENTS_PER_SECOND: u64 = 30_000_000;
/// Iterations that a second of play stands for on the largest graphs.
pub const PLAY_ITERATIONS_PER_SECOND_MIN: u64 = 20;
/// Iterations that a second of play stands for on small graphs.
pub const PLAY_ITERATIONS_PER_SECOND_MAX: u64 = 120;
/// Milliseconds that a page's address, or a session's settings, may ask a layout to play for.
pub const PLAY_MILLIS_ADDRESS_MAX: u64 = 10_000;
/// Milliseconds that a viewer's command may ask a layout to play for; what a command without a time means.
pub const PLAY_MILLIS_MAX: u64 = 600_000;
/// Callers waiting for one dataset to be loaded.
pub const LOAD_WAITERS_MAX: usize = 1_024;
/// Jobs waiting for a worker, of each kind of worker.
pub const JOBS_QUEUED_MAX: usize = 256;
/// Datasets waiting for a loader.
pub const LOADS_QUEUED_MAX: usize = 1_024;
/// Nodes that one viewer session may hold pinned.
pub const PINS_MAX: usize = 10_000;
/// Entries of the document of one visualization: filters, encodings, collections, pins, settings.
pub const DOCUMENT_ENTRIES_MAX: usize = PINS_MAX + 1_000;
/// Bytes of JSON of the document of a visualization that an account owns.
pub const DOCUMENT_BYTES_MAX: usize = 4 << 20;
/// The same for one without an owner.
pub const DOCUMENT_OF_NOBODY_BYTES_MAX: usize = 512 << 10;
/// Bytes of memory that the sets of nodes and brushed values of one document unpack to.
pub const DOCUMENT_UNPACKED_BYTES_MAX: u64 = 16 << 20;
/// Bytes of memory of the documents of one account that are in memory: entries, what can be taken back, what pages have
/// yet to be told. Those that no page shows are read again when they are needed.
pub const DOCUMENTS_PER_USER_BYTES_MAX: u64 = 64 << 20;
/// The same for all documents without an owner, together.
pub const DOCUMENTS_OF_NOBODY_BYTES_MAX: u64 = 64 << 20;
/// Bytes of JSON of what one page changes for itself alone, and of what of that it can take back.
pub const OWN_DOCUMENT_BYTES_MAX: usize = 64 << 10;
/// Steps for itself alone that a page can take back.
pub const OWN_STEPS_MAX: usize = 20;
/// Bytes of memory of what all pages of one visualization change for themselves alone.
pub const OWN_DOCUMENTS_BYTES_MAX: u64 = 16 << 20;
/// Bytes of the mapping of an encoding of a document.
pub const ENCODING_MAPPING_BYTES_MAX: usize = 64 << 10;
/// Colours of an encoding of a document.
pub const ENCODING_COLORS_MAX: usize = 1_000;
/// Bytes of one entry of a document.
pub const DOCUMENT_VALUE_BYTES_MAX: usize = 512 << 10;
/// Bytes of what can be taken back in one visualization.
pub const HISTORY_BYTES_MAX: usize = 4 << 20;
/// Steps that can be taken back in one visualization.
pub const HISTORY_STEPS_MAX: usize = 500;
/// Arrangements of the nodes of one visualization that are kept for taking layouts back.
pub const ARRANGEMENTS_KEPT_MAX: usize = 4;
/// Steps that a page may have missed and still gets one by one.
pub const STEPS_TOLD_MAX: usize = 1_000;
/// Requests that may wait long (for a turn among queries, a layout, groups) of one account at a time.
pub const WAITING_PER_USER_MAX: usize = 32;
/// The same of one address, of callers without an account.
pub const WAITING_PER_ADDRESS_MAX: usize = 8;
/// The same of all callers without an account together.
pub const STRANGERS_WAITING_MAX: usize = 32;
/// Requests of one caller that wait to be among them; others are refused at once.
pub const WAITING_QUEUED_MAX: usize = 64;
/// Pictures that are drawn at once, or wait to be drawn, of all sessions together.
pub const PICTURES_MAX: usize = 16;
/// The same of one account; of one address it is one.
pub const PICTURES_PER_USER_MAX: usize = 4;
/// Histograms of one request of a page.
pub const HISTOGRAMS_ASKED_MAX: usize = 32;
/// Results of one search.
pub const SEARCH_RESULTS_MAX: usize = 200;
/// Characters of a search text.
pub const SEARCH_CHARS_MAX: usize = 256;
/// Bytes of one stored record in its JSON form.
pub const RECORD_BYTES_MAX: usize = 16 << 20;
/// Bytes that a stored file or dataset counts for on top of its JSON form: what its entries in the indexes take.
pub const RECORD_COST_BYTES: u64 = 1 << 10;
/// Bytes above which a record is kept in a file of its own instead of in the record store.
pub const RECORD_INLINE_BYTES_MAX: usize = 16 << 10;
/// Bytes of the key of a stored record.
pub const RECORD_KEY_BYTES_MAX: usize = 255;
/// Commits waiting for the disk.
pub const COMMITS_WAITING_MAX: usize = 1_024;
/// Commits that share one sync.
pub const COMMIT_GROUP_MAX: usize = 256;
/// Free bytes of the disk below which no upload is accepted.
pub const DISK_FREE_UPLOAD_BYTES_MIN: u64 = 64 << 20;
/// Free bytes of the disk below which nothing is accepted: the record store never meets a full disk.
pub const DISK_FREE_COMMIT_BYTES_MIN: u64 = 16 << 20;
/// Bindings, chains and references nested in one query.
pub const QUERY_DEPTH_MAX: usize = 16;
/// Steps of one chain.
pub const QUERY_STEPS_MAX: usize = 256;
/// Bindings of one query.
pub const QUERY_BINDINGS_MAX: usize = 256;
/// Other datasets that one query may read.
pub const QUERY_DATASETS_MAX: usize = 8;
/// Hops that one step of a query may name; more is asked for with `to_fixed_point`.
pub const QUERY_HOPS_MAX: u32 = 10_000;
/// Values of one membership test of a query. A request of [`JSON_BODY_BYTES_MAX`] holds so many of up to nine bytes
/// each, with the comma; longer ones meet that limit first.
pub const QUERY_OPTIONS_MAX: usize = 100_000;
/// Characters of a pattern or an expression in a query.
pub const QUERY_TEXT_CHARS_MAX: usize = 20_000;
/// States that matching along paths may keep: each is a node together with the values still compared.
pub const QUERY_STATES_MAX: usize = 20_000_000;
/// Rows that the calls of a query may make of a graph at once.
pub const QUERY_ROWS_MAX: usize = 20_000_000;
/// Values that one expression of a query may have in all rows, those in lists included.
pub const QUERY_CELLS_MAX: usize = 100_000_000;
/// Elements of one list that an expression of a query makes.
pub const QUERY_LIST_MAX: usize = 1_000_000;
/// Bytes of one text that an expression of a query makes.
pub const QUERY_CELL_BYTES_MAX: usize = CELL_BYTES_MAX;
/// Operators of one expression of a query.
pub const QUERY_OPERATORS_MAX: usize = 500;
/// One query takes at most this part of the memory budget.
pub const QUERY_MEMORY_PART: u64 = 4;
/// Seconds that one query may take, waiting included.
pub const QUERY_SECS_MAX: u64 = 60;
/// Seconds that one algorithm or layout of a dataset may take, unless the operator says otherwise.
pub const JOB_SECS: u64 = 60;
/// Seconds that the operator may allow for it.
pub const JOB_SECS_MAX: u64 = 24 * 3600;
/// Algorithms and layouts of datasets that run at once, of different accounts.
pub const DATASET_JOBS_AT_ONCE: usize = 2;
/// Datasets of which it is remembered that an algorithm was given up.
pub const DATASET_JOBS_REMEMBERED_MAX: usize = 10_000;
/// Milliseconds of the first turns of a query. What takes longer is begun again, at low priority.
pub const QUERY_TURN_MILLIS: [u64; 2] = [20, 500];
/// First, second turns at once, of different users.
pub const QUERY_TURNS_AT_ONCE: [usize; 2] = [4, 2];
/// Long queries at once, of different users.
pub const QUERIES_LONG_AT_ONCE: usize = 2;
/// Queries of one user, those that wait included.
pub const QUERIES_PER_USER_MAX: usize = 32;
/// Queries of all users, those that wait included.
pub const QUERIES_MAX: usize = 1_024;
/// Characters of one Cypher query.
pub const CYPHER_TEXT_CHARS_MAX: usize = 100_000;
/// Levels that the expressions and patterns of a Cypher query may nest, operators of one row included.
pub const CYPHER_DEPTH_MAX: usize = 120;
/// Nodes and relationships of the patterns of one clause.
pub const CYPHER_PATTERN_STEPS_MAX: usize = 256;
/// Clauses of one Cypher query, over all parts of a union.
pub const CYPHER_CLAUSES_MAX: usize = 256;
/// Operators of the plan of one Cypher query.
pub const CYPHER_OPERATORS_MAX: usize = 2_000;
/// Variables of one Cypher query, those without a name included.
pub const CYPHER_SLOTS_MAX: usize = 4_096;
/// Rows that sorting, grouping and results may hold at once.
pub const CYPHER_ROWS_MAX: usize = 20_000_000;
/// Values that the rows held at once may have.
pub const CYPHER_CELLS_MAX: usize = 100_000_000;
/// Elements of one list that an expression makes, those of lists inside of it included.
pub const CYPHER_LIST_MAX: usize = 10_000_000;
/// Lists and maps that may be inside of each other in one value.
pub const CYPHER_VALUE_DEPTH_MAX: u32 = 200;
/// Bytes of a text that an expression makes.
pub const CYPHER_TEXT_BYTES_MAX: usize = 16 << 20;
/// Relationships of one path that variable length matches.
pub const CYPHER_HOPS_MAX: usize = 100_000;

const _: () = {
    assert!(RECORD_INLINE_BYTES_MAX < RECORD_BYTES_MAX);
    assert!(RECORD_KEY_BYTES_MAX <= u8::MAX as usize);
    assert!(COMMIT_GROUP_MAX <= COMMITS_WAITING_MAX);
    assert!(REQUESTS_IN_FLIGHT_MAX <= COMMITS_WAITING_MAX);
    assert!(DISK_FREE_COMMIT_BYTES_MIN < DISK_FREE_UPLOAD_BYTES_MIN);
    assert!(PARSES_OF_ACCOUNT_MAX < PARSES_IN_PROGRESS_MAX);
    assert!(JSON_BODY_BYTES_MAX < UPLOAD_BYTES_MAX && UPLOAD_BYTES_MAX <= BYTES_PER_USER_MAX);
    assert!(UPLOAD_BYTES_MAX <= DECOMPRESSED_BYTES_MAX);
    assert!(DECOMPRESSED_BYTES_FREE < DECOMPRESSED_BYTES_MAX);
    assert!(XLS_BYTES_MAX < UPLOAD_BYTES_MAX);
    assert!(PAGE_ROWS_DEFAULT <= PAGE_ROWS_MAX);
    assert!(TOKEN_SECS < TOKEN_REFRESH_SECS);
    assert!(SESAME_MAX_AGE_SECS < LINK_RECORD_SECS && LINK_RECORD_SECS < SESAME_MAX_AGE_SECS_MAX);
    // A login session and a chain of refreshed tokens end together.
    assert!(TOKEN_SECS < LOGIN_SESSION_SECS && LOGIN_SESSION_SECS <= TOKEN_REFRESH_SECS);
    // The links and the logins of an account fit into one page of a listing.
    assert!(LINKS_PER_USER_MAX <= PAGE_ROWS_MAX && LOGINS_PER_USER_MAX <= PAGE_ROWS_MAX);
    assert!(ROWS_MAX <= EDGES_MAX);
    assert!(SESSIONS_OF_NOBODY_MAX < SESSIONS_MAX);
    assert!(PASSWORD_HASHES_MAX <= PASSWORD_QUEUE_MAX);
    assert!(REQUESTS_IN_FLIGHT_MAX <= CONNECTIONS_MAX);
    assert!(CONNECTIONS_PER_PEER_MAX < CONNECTIONS_MAX);
    assert!(PLAY_MILLIS_DEFAULT <= PLAY_MILLIS_ADDRESS_MAX);
    assert!(PLAY_MILLIS_ADDRESS_MAX <= PLAY_MILLIS_MAX);
    // One digit and a comma each: a request can hold so many.
    assert!(2 * QUERY_OPTIONS_MAX < JSON_BODY_BYTES_MAX as usize);
    assert!(PLAY_ITERATIONS_PER_SECOND_MIN <= PLAY_ITERATIONS_PER_SECOND_MAX);
    assert!(QUERIES_PER_USER_MAX < QUERIES_MAX);
    assert!(JOB_SECS <= JOB_SECS_MAX);
    assert!(CYPHER_LIST_MAX <= CYPHER_CELLS_MAX);
    assert!(COLLECTION_EXPR_BYTES_MAX * COLLECTIONS_MAX < RECORD_BYTES_MAX);
    assert!((COLLECTION_EXPR_BYTES_MAX as u64) < TOOL_MESSAGE_BYTES_MAX);
    assert!(AGENTS_PER_HOLDER_MAX <= AGENTS_MAX);
    assert!(TOOL_WHOLE_ROWS_MAX <= TOOL_ROWS_MAX);
    assert!(TOOL_COLUMNS_MAX.is_multiple_of(2));
    assert!(CYPHER_PATTERN_STEPS_MAX <= CYPHER_OPERATORS_MAX);
    assert!(CYPHER_DEPTH_MAX <= CYPHER_VALUE_DEPTH_MAX as usize);
};
