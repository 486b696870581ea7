//! The document of a visualization over its live stream: the steps of a page, and the messages about them to all pages.

use graphlume_engine::{ToPage, ViewerEvent};
use graphlume_service::{Principal, Seat, ServiceError, StepRequest, Stepped, Told, ViewerGrant};

use super::goodbye::{Goodbye, close_code};
use super::viewer::{End, Link};
use crate::state::Shell;
use crate::status::ApiError;

/// Characters of the id that a page gives a step.
const STEP_ID_CHARS_MAX: usize = 64;

/// Who says something.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) who: &'a Principal,
    pub(super) grant: &'a ViewerGrant,
    pub(super) controls: bool,
}

/// The answer to a page about a step.
pub(crate) fn answer_of_step(id: &str, done: Result<Stepped, ServiceError>) -> ToPage<'_> {
    match done {
        Ok(Stepped { revision, own }) => ToPage::Done { id, revision, own },
        Err(error) => {
            let ApiError { slug, message, .. } = ApiError::from(error);
            ToPage::Refused { id, slug, message: message.into() }
        }
    }
}

/// A graph that is shown for the first time is told what the document says of it.
pub(super) async fn look_at(shell: &Shell, grant: &ViewerGrant, event: &ViewerEvent) {
    if let ViewerEvent::Graph(graph, ..) = event {
        shell.service.sessions.graph_shown(grant, graph.epoch).await;
    }
}

impl Link<'_> {
    /// Makes a step of the document; all who look are told of it, this page before it is answered.
    pub(super) async fn step(
        &mut self,
        seat: &mut Seat,
        grant: &ViewerGrant,
        id: &str,
        asked: StepRequest,
    ) -> Result<(), End> {
        let done = self.shell.service.sessions.step(grant, seat.id(), asked).await;
        self.tell_document(seat.pending()).await?;
        let id: String = id.chars().take(STEP_ID_CHARS_MAX).collect();
        Ok(self.say(&answer_of_step(&id, done)).await?)
    }

    /// Tells what has happened, and after a graph what the document hides of it.
    pub(super) async fn tell_and_hide(
        &mut self,
        event: ViewerEvent,
        seat: &mut Seat,
    ) -> Result<(), End> {
        let is_graph = matches!(event, ViewerEvent::Graph(..));
        self.tell(event).await?;
        if is_graph {
            seat.graph_told();
            self.tell_document(seat.pending()).await?;
        }
        Ok(())
    }

    /// Sends what is new in the document.
    pub(super) async fn tell_document(&mut self, told: Vec<Told>) -> Result<(), End> {
        for one in told {
            match one {
                Told::Message(message) => self.say(&message).await?,
                Told::Text(text) => match text.bytes() {
                    Ok(bytes) => self.writer.text_bytes(bytes).await?,
                    // The page comes again, and then hears everything.
                    Err(error) => {
                        let error = ApiError::from(error);
                        return Err(End::Close(Goodbye::new(
                            close_code(error.problem),
                            error.message,
                        )));
                    }
                },
                Told::Frame(bytes) => self.binary(&bytes).await?,
            }
        }
        Ok(())
    }
}
