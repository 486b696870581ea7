//! Datasets as resources: what a person can open, and under which address.

use graphlume_service::{PageRequest, Principal, Service, ServiceError};
use graphlume_types::{Code, Coded, limits};
use serde::Deserialize;
use serde_json::{Value, json};

use super::checked;
use super::error::{Kind, Refusal};

/// What the address of a resource begins with; the id of the dataset follows.
const SCHEME: &str = "graphlume://dataset/";

/// The result of `resources/list`: the caller's datasets and those of the caller's organizations.
pub(super) async fn list(
    service: &Service,
    who: &Principal,
    base: &str,
    params: &Value,
) -> Result<Value, Refusal> {
    let offset = match params.get("cursor") {
        None | Some(Value::Null) => 0,
        Some(cursor) => {
            let offset = cursor.as_str().and_then(|c| c.parse::<u64>().ok());
            offset.ok_or_else(|| {
                Refusal::new(
                    Kind::Params,
                    "params.cursor has to be what nextCursor of the previous page was",
                )
            })?
        }
    };
    let most = limits::RESOURCES_PAGE_MAX;
    let (count, found) = page(service, who, offset, most).await.map_err(failed)?;
    let listed: Vec<Value> = found.iter().map(|d| entry(d, base)).collect();
    let seen = offset.saturating_add(listed.len() as u64);
    let mut out = json!({ "resources": listed });
    if !listed.is_empty() && seen < count {
        out["nextCursor"] = json!(seen.to_string());
    }
    Ok(out)
}

/// The result of `resources/read`: one dataset that the caller may see.
pub(super) async fn read(
    service: &Service,
    who: &Principal,
    base: &str,
    params: &Value,
) -> Result<Value, Refusal> {
    let uri = params
        .get("uri")
        .and_then(Value::as_str)
        .ok_or_else(|| Refusal::new(Kind::Params, "resources/read needs params.uri as a text"))?;
    let absent = || {
        let shown: String = uri.chars().take(80).collect();
        let text = format!("there is no resource {shown:?}; resources/list names yours");
        Refusal::new(Kind::UnknownResource, text).with(json!({ "uri": shown }))
    };
    let id = uri.strip_prefix(SCHEME).ok_or_else(absent)?;
    let dataset = match service.datasets.get(who, id).await {
        Ok(envelope) => envelope.data,
        Err(e) if matches!(e.code(), Code::Internal | Code::Corrupt | Code::Unauthenticated) => {
            return Err(failed(e));
        }
        Err(_) => return Err(absent()),
    };
    let text = json!({
        "dataset_id": dataset.dataset_id, "name": dataset.name,
        "description": dataset.description, "node_count": dataset.node_count,
        "edge_count": dataset.edge_count, "created_at": dataset.created_at,
        "open": address(&dataset.dataset_id, base),
    });
    let part = json!({ "uri": uri, "mimeType": "application/json", "text": text.to_string() });
    Ok(json!({ "contents": [part] }))
}

/// What an agent can tell a person who has nothing open.
pub(super) async fn hint(service: &Service, who: &Principal, base: &str) -> String {
    let open = "ask the person to open one while signed in, then call list_sessions again";
    match page(service, who, 0, limits::HINT_DATASETS_MAX).await {
        Ok((count, found)) if !found.is_empty() => {
            let named: Vec<String> = found
                .iter()
                .map(|d| {
                    let name: String = d.name.chars().take(80).collect();
                    format!("{name:?} at {}", address(&d.dataset_id, base))
                })
                .collect();
            let rest = count.saturating_sub(named.len() as u64);
            let more = if rest == 0 {
                String::new()
            } else {
                format!(", and {rest} more in resources/list")
            };
            format!("no visualization is open; {open}: {}{more}", named.join(", "))
        }
        Err(_) => format!("no visualization is open; {open}"),
        Ok(_) => format!(
            "no visualization is open and this account has no dataset yet; upload one, then ask the \
             person to open {base}/graph/graph.html?dataset=ID while signed in"
        ),
    }
}

async fn page(
    service: &Service,
    who: &Principal,
    offset: u64,
    limit: u64,
) -> Result<(u64, Vec<Named>), ServiceError> {
    let text = |n: u64| Some(n.to_string());
    let asked = PageRequest { address: String::new(), limit: text(limit), offset: text(offset) };
    let page = service.datasets.list(who, asked).await?;
    let named: Listed = serde_json::from_slice(&page.body)
        .map_err(|e| ServiceError::Internal(format!("a list was written wrongly: {e}")))?;
    Ok((page.count, named.results))
}

/// A page of datasets, of which agents are told the names.
#[derive(Deserialize)]
struct Listed {
    results: Vec<Named>,
}

/// What agents are told of a dataset in a list.
#[derive(Deserialize)]
struct Named {
    dataset_id: String,
    name: String,
    description: String,
}

fn entry(dataset: &Named, base: &str) -> Value {
    let open = address(&dataset.dataset_id, base);
    let about: String = dataset.description.chars().take(500).collect();
    let about = if about.is_empty() { about } else { format!("{about} ") };
    json!({
        "uri": format!("{SCHEME}{}", dataset.dataset_id),
        "name": dataset.name,
        "title": dataset.name,
        "description": format!("{about}Open it in a browser: {open}"),
        "mimeType": "application/json",
    })
}

fn address(dataset_id: &str, base: &str) -> String {
    format!("{base}/graph/graph.html?dataset={dataset_id}")
}

fn failed(error: ServiceError) -> Refusal {
    match error.code() {
        Code::InvalidArgument => Refusal::new(Kind::Params, error.public_message()),
        Code::Forbidden => Refusal::new(Kind::Denied, error.public_message()),
        _ => checked(error),
    }
}
