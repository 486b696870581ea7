//! Sharing: the other people who may see or change a dataset.

use graphlume_identity::Principal;
use graphlume_identity::authz::Action;
use graphlume_identity::body::{self, kind, missing};
use graphlume_identity::reply::StatusReply;
use graphlume_storage::{DatasetRec, Invitation, Privacy, PrivacyMode};
use graphlume_types::Notice;
use graphlume_types::limits::INVITED_USERS_MAX;
use serde_json::{Map, Value, json};

use super::create::with_notices;
use super::{Datasets, no_dataset};
use crate::error::{ServiceError, json_value};
use crate::reply::PrivacyReply;

impl Datasets {
    /// Sets who may see a dataset: `{obj_pk, obj_type, mode, mode_action?, invited_users?, notify?,
    /// message?}`. Each call replaces the one before.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::Forbidden`], or a field that makes no sense.
    pub async fn share(&self, who: &Principal, body: &[u8]) -> Result<StatusReply, ServiceError> {
        let map = body::object(body)?;
        let id = body::text(&map, "obj_pk")?.ok_or_else(|| missing("obj_pk", "the dataset id"))?;
        is_dataset(body::text(&map, "obj_type")?)?;
        let privacy = parse(&map)?;
        let notices: Vec<Notice> = without_effect(&privacy).into_iter().collect();
        let (rec, _) = self.stored_for(who, Action::Share, id).await?;
        let (dataset, mode) = (rec.dataset_id, privacy.mode);
        let now = self.ctx.data.clock.unix_micros();
        self.ctx
            .blocking(move |data| {
                let after = DatasetRec { privacy: Some(privacy.clone()), ..rec.clone() };
                let _room = data.quotas.record(&data.store, &after, Some(&rec))?;
                let done = data.store.update::<DatasetRec>(&dataset, |d| {
                    d.privacy = Some(privacy.clone());
                    d.updated_at = now;
                })?;
                done.map(|_| ()).ok_or_else(|| no_dataset(dataset))
            })
            .await?;
        self.ctx.identity.access_changed();
        let user = who.user().map(|u| u.0);
        tracing::info!(target: "audit", event = "dataset-shared", user, %dataset, ?mode);
        Ok(StatusReply {
            status: "OK",
            message: with_notices("sharing was set; nobody is notified by mail", &notices),
            data: json!({ "notices": notices }),
        })
    }

    /// How a dataset is shared, for who may share it.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::Forbidden`]; no dataset named, or something else.
    pub async fn sharing(
        &self,
        who: &Principal,
        obj_pk: Option<&str>,
        obj_type: Option<&str>,
    ) -> Result<StatusReply, ServiceError> {
        let id = obj_pk.ok_or_else(|| missing("obj_pk", "the dataset id"))?;
        is_dataset(obj_type)?;
        let (rec, _) = self.stored_for(who, Action::Share, id).await?;
        let notices: Vec<Notice> =
            rec.privacy.as_ref().and_then(without_effect).into_iter().collect();
        let message = match &rec.privacy {
            Some(_) => "sharing as it was set",
            None => "sharing was not set: whoever has the address may view, the author may edit",
        };
        let mut data = Map::new();
        if let Some(privacy) = &rec.privacy
            && let Value::Object(set) =
                json_value("the sharing of a dataset", &PrivacyReply::of(privacy, true))?
        {
            data = set;
        } else {
            data.insert("mode".to_owned(), Value::Null);
        }
        data.insert("obj_pk".to_owned(), rec.dataset_id.to_string().into());
        data.insert("obj_type".to_owned(), "dataset".into());
        data.insert("notices".to_owned(), json!(notices));
        let message = with_notices(message, &notices);
        Ok(StatusReply { status: "OK", message, data: Value::Object(data) })
    }
}

fn is_dataset(obj_type: Option<&str>) -> Result<(), ServiceError> {
    let Some(other) = obj_type.filter(|t| *t != "dataset") else { return Ok(()) };
    let shown: String = other.chars().take(40).collect();
    let message = format!("obj_type {shown:?} cannot be shared; use dataset");
    Err(ServiceError::invalid("obj_type", message))
}

/// The notice `sharing-without-effect` for a share with mode `public` and mode_action 20 (edit) or 30 (share): that mode lets
/// everyone with the address view, and gives the right to edit or share to no account.
pub(super) fn without_effect(privacy: &Privacy) -> Option<Notice> {
    if privacy.mode != PrivacyMode::Public || privacy.mode_action == "10" {
        return None;
    }
    let (action, what) = (
        &privacy.mode_action,
        match privacy.mode_action.as_str() {
            "20" => "edit",
            _ => "share",
        },
    );
    let text = format!(
        "mode public with mode_action {action:?} lets nobody {what}: whoever has the address may view; name those who may \
         {what} in invited_users, or use mode organization"
    );
    Some(Notice::new("sharing-without-effect", text))
}

/// What the fields of a share say of who may see something.
///
/// # Errors
/// As [`Datasets::share`].
pub(crate) fn check_privacy(map: &Map<String, Value>) -> Result<Privacy, ServiceError> {
    parse(map)
}

fn parse(map: &Map<String, Value>) -> Result<Privacy, ServiceError> {
    let mode = match body::text(map, "mode")? {
        None | Some("private") => PrivacyMode::Private,
        Some("organization" | "org") => PrivacyMode::Organization,
        Some("public") => PrivacyMode::Public,
        Some(other) => {
            let shown: String = other.chars().take(40).collect();
            let message = format!("mode {shown:?} is unknown; use private, organization or public");
            return Err(ServiceError::invalid("mode", message));
        }
    };
    let by_default = if mode == PrivacyMode::Private { "20" } else { "10" };
    let mode_action = match map.get("mode_action") {
        None | Some(Value::Null) => by_default.to_owned(),
        Some(given) => action("mode_action", given)?,
    };
    let invited_users = body::list(map, "invited_users")?.unwrap_or_default();
    if invited_users.len() > INVITED_USERS_MAX {
        return Err(ServiceError::TooLarge {
            what: "invited_users",
            limit: INVITED_USERS_MAX as u64,
            unit: "people",
        });
    }
    let invited_users = invited_users
        .iter()
        .enumerate()
        .map(|(i, v)| invitation(&format!("invited_users[{i}]"), v, &mode_action))
        .collect::<Result<_, _>>()?;
    let notify = map.get("notify").and_then(Value::as_bool).unwrap_or(false);
    let message = body::name(map, "message")?.unwrap_or_default();
    Ok(Privacy { mode, mode_action, invited_users, notify, message })
}

/// "10" view, "20" edit, "30" share; also as a number.
fn action(field: &str, given: &Value) -> Result<String, ServiceError> {
    let text = match given {
        Value::String(s) => s.clone(),
        Value::Number(n) => n.to_string(),
        other => {
            let message = format!("{field} is a JSON {}; expected a string", kind(other));
            return Err(ServiceError::invalid(field.to_owned(), message));
        }
    };
    if matches!(text.as_str(), "10" | "20" | "30") {
        return Ok(text);
    }
    let shown: String = text.chars().take(40).collect();
    let message =
        format!("{field} {shown:?} is unknown; use \"10\" (view), \"20\" (edit) or \"30\" (share)");
    Err(ServiceError::invalid(field.to_owned(), message))
}

/// `{email, action?}` or a bare address.
fn invitation(field: &str, given: &Value, by_default: &str) -> Result<Invitation, ServiceError> {
    let (email, level) = match given {
        Value::String(s) => (Some(s.as_str()), None),
        Value::Object(m) => (m.get("email").and_then(Value::as_str), m.get("action")),
        _ => (None, None),
    };
    let email = email.filter(|e| !e.is_empty() && e.chars().count() <= 320).ok_or_else(|| {
        let message =
            format!("{field} is no mail address; send \"a@example.org\" or {{\"email\": …}}");
        ServiceError::invalid(field.to_owned(), message)
    })?;
    let action = match level {
        None | Some(Value::Null) => by_default.to_owned(),
        Some(level) => action(&format!("{field}.action"), level)?,
    };
    Ok(Invitation { email: email.to_lowercase(), action })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use graphlume_types::Coded;
    use serde_json::json;

    fn parsed(v: Value) -> Result<Privacy, ServiceError> {
        parse(v.as_object().unwrap())
    }

    #[test]
    fn both_forms_of_invitations_are_read() {
        let p = parsed(json!({
            "mode": "org",
            "invited_users": [{"email": "A@x.org", "action": "20"}, "b@x.org"],
        }))
        .unwrap();
        assert_eq!((p.mode, p.mode_action.as_str()), (PrivacyMode::Organization, "10"));
        let got: Vec<_> =
            p.invited_users.iter().map(|i| (i.email.as_str(), i.action.as_str())).collect();
        assert_eq!(got, [("a@x.org", "20"), ("b@x.org", "10")]);
    }

    #[test]
    fn defaults_are_those_of_the_clients() {
        let p = parsed(json!({})).unwrap();
        assert_eq!((p.mode, p.mode_action.as_str()), (PrivacyMode::Private, "20"));
        assert_eq!(parsed(json!({"mode": "public"})).unwrap().mode_action, "10");
    }

    #[test]
    fn editors_whom_nobody_is_are_told() {
        let told = |v: Value| without_effect(&parsed(v).unwrap()).map(|n| n.text);
        let text = told(json!({"mode": "public", "mode_action": "20"})).unwrap();
        assert!(text.contains("nobody edit") && text.contains("invited_users"), "{text}");
        assert!(told(json!({"mode": "public", "mode_action": 30})).unwrap().contains("share"));
        for fine in
            [json!({"mode": "public"}), json!({}), json!({"mode": "org", "mode_action": "20"})]
        {
            assert_eq!(told(fine), None);
        }
    }

    #[test]
    fn nonsense_names_its_field() {
        for (body, field) in [
            (json!({"mode": "secret"}), "mode"),
            (json!({"mode_action": "40"}), "mode_action"),
            (json!({"mode_action": true}), "mode_action"),
            (json!({"invited_users": [3]}), "invited_users[0]"),
            (
                json!({"invited_users": [{"email": "a@x", "action": "x"}]}),
                "invited_users[0].action",
            ),
            (json!({"invited_users": {}}), "invited_users"),
        ] {
            assert_eq!(parsed(body).unwrap_err().field(), Some(field));
        }
    }
}
