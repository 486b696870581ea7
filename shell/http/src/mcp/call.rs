//! One call of a tool: on a connection, or of a request that stands alone.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value, json};

use super::error::{Kind, Refusal};
use super::tool::{self, Call, Outcome, ToolError};
use super::{Asked, checked, no_credential};

impl Asked {
    /// Runs a tool: on a connection, or for a request that stands alone.
    pub(super) async fn call(
        &self,
        connection: Option<(&str, &Value)>,
        params: Value,
    ) -> Result<Value, Refusal> {
        let invalid = |field: &str, wanted: &str| {
            let found = params.get(field).map_or_else(|| "missing".to_owned(), tool::told);
            let text = format!(
                "params.{field} of tools/call is {found}; it has to be {wanted}. A right call: \
                 {{\"name\":\"list_sessions\",\"arguments\":{{}}}}"
            );
            Refusal::new(Kind::Params, text)
        };
        let name = params.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| invalid("name", "the name of a tool, a text"))?;
        let tool = tool::every().find(|t| t.name == name).ok_or_else(|| {
            let names: Vec<&str> = tool::every().map(|t| t.name).collect();
            let shown: String = name.chars().take(80).collect();
            let text = format!("there is no tool {shown:?}; there are {}", names.join(", "));
            Refusal::new(Kind::UnknownTool, text)
        })?;
        let arguments = match params.get("arguments") {
            None | Some(Value::Null) => json!({}),
            Some(Value::Object(map)) => Value::Object(map.clone()),
            Some(_) => return Err(invalid("arguments", "an object, not its text")),
        };
        let access = self.shell.service.identity.access_version();
        let who = self.caller()?;
        let caller = who.clone();
        let agents = &self.shell.agents;
        let guard = match (connection, who.user()) {
            (Some((session, id)), user) => {
                if let Some(user) = user {
                    agents.prove(session, user);
                }
                agents.begin(session, id)?
            }
            (None, Some(user)) => agents.begin_alone(user)?,
            (None, None) => return Err(no_credential()),
        };
        // A client that hangs up has withdrawn a call that stands alone.
        let _withdrawn = connection.is_none().then(|| guard.stopped().drop_guard());
        let service = Arc::clone(&self.shell.service);
        let call = Call { tool, service, who, arguments, base: self.base.clone() };
        let before = self.shell.config.before_tool;
        let time = self.shell.config.tool_time;
        let work = async move {
            if let Some(before) = before {
                before(tool.name).await;
            }
            (tool.run)(call).await
        };
        // A connection that is lost does not stop the tool: the transport says so.
        let run = self.shell.tasks.spawn(async move {
            let stopped = guard.stopped();
            let work = AssertUnwindSafe(within(time, work));
            tokio::select! {
                biased;
                () = stopped.cancelled() => {
                    Err(Refusal::new(Kind::Cancelled, "the call was cancelled by its client"))
                }
                done = work.catch_unwind() => Ok(done.map_err(drop)),
            }
        });
        let done = run.await.map_err(|e| Refusal::new(Kind::Internal, e.to_string()))??;
        // A caller who was logged out meanwhile is not told what the tool found.
        self.shell.service.identity.require_access_since(&caller, access).map_err(checked)?;
        tool::result(tool.name, done)
    }
}

/// `work`, or that its time is over.
async fn within(
    time: Duration,
    work: impl Future<Output = Result<Outcome, ToolError>>,
) -> Result<Outcome, ToolError> {
    let over = || {
        let text = format!("the tool took longer than {} seconds; ask for less", time.as_secs());
        ToolError::Refused(Refusal::new(Kind::Timeout, text))
    };
    tokio::time::timeout(time, work).await.unwrap_or_else(|_| Err(over()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphlume_types::limits;

    #[tokio::test]
    async fn a_tool_that_takes_too_long_is_ended_and_told_so() {
        assert_eq!(limits::TOOL_CALL_SECS_MAX, 60);
        for in_time in [true, false] {
            let work = async {
                if !in_time {
                    std::future::pending::<()>().await;
                }
                Ok(Outcome::Text("done".to_owned()))
            };
            let began = tokio::time::Instant::now();
            match within(Duration::from_millis(200), work).await {
                Ok(_) => assert!(in_time),
                Err(ToolError::Refused(r)) => {
                    assert!(!in_time && r.kind == Kind::Timeout);
                    assert!(began.elapsed() >= Duration::from_millis(200));
                }
                Err(ToolError::Failed(e)) => unreachable!("{e}"),
            }
        }
    }
}
