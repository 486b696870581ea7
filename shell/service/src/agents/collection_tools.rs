//! Collections of a visualization that agents paint.

use std::sync::Arc;

use graphlume_engine::{CollectionMembers, CollectionRule, CollectionsView};
use graphlume_storage::CollectionRec;
use graphlume_types::Notice;
use serde_json::{Value, json};

use super::number_ids::number_operations;
use super::{Agents, Live};
use crate::error::ServiceError;
use crate::sessions::collections::{self, Background, Collections, refusal};

/// A collection that an agent wants.
#[derive(Debug, Clone, Default)]
pub struct NewCollection {
    /// Its name; one of the same name is replaced.
    pub name: String,
    /// JSON of an array of operations or of a Let.
    pub gfql_operations: String,
    /// `#RRGGBB` or `#RRGGBBAA`; wins over the palette.
    pub node_color: Option<String>,
    /// Name of a palette.
    pub palette: Option<String>,
    /// Anything worth knowing.
    pub description: Option<String>,
}

/// What is to be different about a collection.
#[derive(Debug, Clone, Default)]
pub struct CollectionChange {
    /// A new name.
    pub name: Option<String>,
    /// A new colour; wins over the palette.
    pub node_color: Option<String>,
    /// A new palette.
    pub palette: Option<String>,
}

impl Agents {
    /// Makes a collection, in whose expression texts of digits find ids that are numbers, paints it in every open page and tells what it holds.
    ///
    /// # Errors
    /// An expression that is refused; a name, colour or palette that makes no sense; a full disk.
    pub async fn create_collection(
        &self,
        live: &Live,
        new: NewCollection,
    ) -> Result<Value, ServiceError> {
        let name = collections::checked_name(&new.name)?;
        let description =
            collections::checked_description(new.description.as_deref().unwrap_or(""))?;
        let Coloring { color: node_color, palette, notices } =
            coloring(new.node_color.as_deref(), new.palette.as_deref())?;
        let mut expr = collections::expression(&new.gfql_operations)?;
        number_operations(&mut expr, &self.number_ids(live).await);
        let rule = Arc::new(collections::rule_of(&expr, true)?);
        let found = self.ctx.engine.evaluate_collection(live.target(), Arc::clone(&rule)).await??;
        let count = found.count();
        let label = format!("Collection {name}");
        let now = self.ctx.data.clock.unix_micros();
        let edit = |collections: &Collections| {
            let mut records = collections.records.clone();
            let node_color =
                node_color.or_else(|| palette.is_none().then(|| collections.free_color()));
            let old = records.iter().position(|r| r.name == name);
            let id = old.map_or_else(collections::new_id, |at| records[at].id.clone());
            let rec = CollectionRec {
                id: id.clone(),
                name,
                description,
                expr,
                strict: true,
                node_color,
                edge_color: None,
                palette,
                off: false,
                created_at: now,
            };
            match old {
                Some(at) => records[at] = rec,
                None => records.insert(0, rec),
            }
            let dropped = collections::cut_to_limit(&mut records);
            Ok((records, (id, old.is_some(), dropped)))
        };
        let known = |made: &(String, bool, Vec<CollectionRec>)| Some((made.0.clone(), rule, found));
        let (collections, shown, (id, replaced, dropped)) =
            self.change_collections(live, label, edit, known).await?;
        let mut entry = collections.entry(collections.find(&id)?, &shown);
        // The picture may lag behind; what was found is known.
        entry["matchCount"] = json!(count);
        let dropped: Vec<Value> =
            dropped.iter().map(|r| json!({"id": r.id, "name": r.name})).collect();
        let made = json!({ "collection": entry, "replaced": replaced, "dropped": dropped });
        Ok(with_notices(made, &notices))
    }

    /// The collections of a session, the one on top first.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] when the session is gone.
    pub async fn list_collections(&self, live: &Live) -> Result<Value, ServiceError> {
        let collections = self.collections(live)?;
        let shown = match self.ctx.engine.info(live.session.clone()).await {
            Ok(info) => info.collections,
            Err(_) => Arc::default(),
        };
        let entries = (0..collections.records.len()).map(|place| collections.entry(place, &shown));
        Ok(json!({
            "collections": entries.collect::<Vec<_>>(), "background": collections.background_entry(),
        }))
    }

    /// Renames or recolours a collection.
    ///
    /// # Errors
    /// An unknown id, a name that another collection has, a change that changes nothing.
    pub async fn update_collection(
        &self,
        live: &Live,
        id: &str,
        change: CollectionChange,
    ) -> Result<Value, ServiceError> {
        let name = change.name.as_deref().map(collections::checked_name).transpose()?;
        let Coloring { color, palette, notices } =
            coloring(change.node_color.as_deref(), change.palette.as_deref())?;
        let edit = |collections: &Collections| {
            let at = collections.find(id)?;
            if name.is_none() && color.is_none() && palette.is_none() {
                return Err(refusal(
                    "nothing-to-change",
                    "give at least one of name, node_color and palette",
                ));
            }
            let mut records = collections.records.clone();
            if let Some(name) = name {
                if records.iter().enumerate().any(|(i, r)| i != at && r.name == name) {
                    return Err(refusal(
                        "conflict",
                        format!("another collection is named {name:?}"),
                    ));
                }
                records[at].name = name;
            }
            if color.is_some() || palette.is_some() {
                (records[at].node_color, records[at].palette) = (color, palette);
                records[at].edge_color = None;
            }
            Ok((records, at))
        };
        let label = "Change of a collection".to_owned();
        let (collections, shown, at) = self.change_collections(live, label, edit, |_| None).await?;
        Ok(with_notices(json!({ "collection": collections.entry(at, &shown) }), &notices))
    }

    /// Deletes a collection.
    ///
    /// # Errors
    /// An unknown id; the layer that is always there.
    pub async fn delete_collection(&self, live: &Live, id: &str) -> Result<Value, ServiceError> {
        let edit = |collections: &Collections| {
            let at = collections.find(id)?;
            let mut records = collections.records.clone();
            let gone = records.remove(at);
            Ok((records, gone))
        };
        let label = "A collection deleted".to_owned();
        let (_, _, gone) = self.change_collections(live, label, edit, |_| None).await?;
        Ok(json!({ "deleted": { "id": gone.id, "name": gone.name } }))
    }

    /// Puts the named collections on top, in this order; the others follow in theirs.
    ///
    /// # Errors
    /// An unknown id, or one that is named twice.
    pub async fn reorder_collections(
        &self,
        live: &Live,
        order: &[String],
    ) -> Result<Value, ServiceError> {
        let edit = |collections: &Collections| {
            let mut places = Vec::new();
            for id in order {
                let at = collections.find(id)?;
                if places.contains(&at) {
                    return Err(refusal("conflict", format!("order names {id:?} twice")));
                }
                places.push(at);
            }
            let rest = (0..collections.records.len()).filter(|at| !places.contains(at));
            let all: Vec<usize> = places.iter().copied().chain(rest).collect();
            Ok((all.into_iter().map(|at| collections.records[at].clone()).collect(), ()))
        };
        let label = "Order of collections".to_owned();
        let (collections, shown, ()) = self.change_collections(live, label, edit, |_| None).await?;
        let entries = (0..collections.records.len()).map(|place| collections.entry(place, &shown));
        Ok(json!({ "collections": entries.collect::<Vec<_>>() }))
    }

    /// Removes every collection: the picture is as it was.
    ///
    /// # Errors
    /// A full disk.
    pub async fn reset_collections(&self, live: &Live) -> Result<Value, ServiceError> {
        let edit = |collections: &Collections| Ok((Vec::new(), collections.records.len()));
        let label = "All collections removed".to_owned();
        let (_, _, removed) = self.change_collections(live, label, edit, |_| None).await?;
        Ok(json!({ "removed": removed }))
    }

    fn collections(&self, live: &Live) -> Result<Arc<Collections>, ServiceError> {
        let meta = self.sessions.meta(&live.session)?;
        let meta = meta.ok_or_else(|| ServiceError::not_found("session", &live.session))?;
        Ok(meta.collections)
    }

    /// Changes the collections of a session: one change at a time, on the disk before viewers are told,
    /// and then in every page.
    async fn change_collections<T>(
        &self,
        live: &Live,
        label: String,
        edit: impl FnOnce(&Collections) -> Result<(Vec<CollectionRec>, T), ServiceError>,
        known: impl FnOnce(&T) -> Option<(String, Arc<CollectionRule>, CollectionMembers)>,
    ) -> Result<(Arc<Collections>, Arc<CollectionsView>, T), ServiceError> {
        let meta = || {
            let meta = self.sessions.meta(&live.session)?;
            meta.ok_or_else(|| ServiceError::not_found("session", &live.session))
        };
        let turn = meta()?.room.turn().lock_owned().await;
        let mut meta = meta()?;
        let (records, told) = edit(&meta.collections)?;
        let known = known(&told);
        let rule = known.as_ref().map(|(id, rule, _)| (id.as_str(), Arc::clone(rule)));
        let Background { node, edge } = meta.collections.background.clone();
        let collections =
            Arc::new(Collections::new(records, Background { node, edge }, &meta.collections, rule));
        let before = std::mem::replace(&mut meta.collections, Arc::clone(&collections));
        let author = live.author.clone();
        let _turn = self.sessions.step_of_agent((&meta, turn), &before, author, label).await?;
        self.sessions.show_collections(&live.session, &collections);
        let found = known.map(|(id, _, found)| (id, found)).into_iter().collect();
        let dressed = self
            .ctx
            .engine
            .set_collections(live.target(), Arc::clone(&collections.layers), found)
            .await;
        let shown = dressed.unwrap_or_else(|error| {
            // They are kept; the page shows them as soon as it can.
            tracing::warn!(session = %live.session, %error, "collections are not in the picture yet");
            Arc::default()
        });
        Ok((collections, shown, told))
    }
}

/// How a collection is coloured, and what is told of it.
struct Coloring {
    color: Option<String>,
    palette: Option<String>,
    notices: Vec<Notice>,
}

/// One colour wins over a palette, also over one that is not there, which is told.
fn coloring(color: Option<&str>, palette: Option<&str>) -> Result<Coloring, ServiceError> {
    let color = color.map(collections::checked_color).transpose()?;
    let found = palette.map(collections::checked_palette).transpose();
    let (palette, notices) = match (found, &color) {
        (Ok(palette), None) => (palette, Vec::new()),
        (Ok(_), Some(_)) => (None, Vec::new()),
        (Err(e), Some(color)) => {
            let text = format!("{e}: {color} of node_color is taken");
            (None, vec![Notice::new("palette-not-found", text)])
        }
        (Err(e), None) => return Err(e),
    };
    Ok(Coloring { color, palette, notices })
}

/// An answer with what is told beside it, where there is something.
fn with_notices(mut answer: Value, notices: &[Notice]) -> Value {
    if !notices.is_empty() {
        answer["notices"] = json!(notices);
    }
    answer
}
