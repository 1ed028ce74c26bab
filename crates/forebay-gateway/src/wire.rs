//! The seam between the transport and a provider's wire format. The transport knows HTTP, deadlines and
//! limits; a wire format knows what a request looks like and what an answer says. A second format is a second
//! module beside `openai`, chosen in [`encode`] and [`reader`] by what the target says of itself.

use forebay_core::attempt::Usage;
use reqwest::Url;

use crate::call::Call;
use crate::failed::Failed;
use crate::openai;
use crate::report::Answer;
use crate::sse::Event;

/// A request, ready to be sent as JSON.
#[derive(Debug)]
pub(crate) struct Request {
    /// Goes behind the target's base address, with its slash.
    pub(crate) path: &'static str,
    pub(crate) body: Vec<u8>,
}

/// Whether a stream goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    More,
    /// The provider said that this was all.
    Done,
}

/// Takes in an answer, piece by piece or whole. After an error it takes in nothing more.
pub(crate) trait Reader: Send {
    /// Takes in one event of a stream.
    fn event(&mut self, event: &Event) -> Result<Flow, Failed>;
    /// Takes in an answer that came as one JSON document.
    fn document(&mut self, body: &[u8]) -> Result<(), Failed>;
    /// What the answer amounts to now that nothing more comes.
    fn finish(self: Box<Self>) -> Reading;
}

/// What an answer amounts to.
#[derive(Debug)]
pub(crate) struct Reading {
    /// The answer, if it is whole and useful.
    pub(crate) answer: Result<Answer, Failed>,
    /// The text so far, whether or not it is an answer.
    pub(crate) text: Option<String>,
    pub(crate) usage: Option<Usage>,
    pub(crate) model: Option<String>,
}

/// The request of a call at the provider that `base` is the address of.
pub(crate) fn encode(call: &Call, base: &Url) -> Request {
    openai::encode(call, base)
}

/// What reads the answer of a call.
pub(crate) fn reader(call: &Call) -> Box<dyn Reader> {
    openai::reader(call)
}
