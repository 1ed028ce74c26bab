//! The seam between the transport and a provider's wire format. The transport knows HTTP, deadlines and
//! limits; a wire format knows what a request looks like and what an answer says. Each format is a module of
//! its own, chosen in [`encode`] and [`reader`] by the call and by the kind of provider.

use forebay_core::attempt::Usage;
use forebay_core::definition::ProviderKind;
use forebay_core::failure::FailureClass;
use serde_json::{Map, Value};

use crate::call::Call;
use crate::failed::Failed;
use crate::report::Answer;
use crate::sse::Event;
use crate::{anthropic, openai, responses};

/// A request, ready to be sent as JSON.
#[derive(Debug)]
pub(crate) struct Request {
    /// Goes behind the target's base address, with its slash.
    pub(crate) path: &'static str,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(path: &'static str, body: Map<String, Value>) -> Self {
        Self { path, body: Value::Object(body).to_string().into_bytes() }
    }
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

/// The request of a call at a provider of this kind; what it has no way to say is refused.
pub(crate) fn encode(call: &Call, kind: ProviderKind) -> Result<Request, Failed> {
    Ok(match (call, kind) {
        (Call::Chat(call), ProviderKind::Anthropic) => Request::new("/messages", anthropic::request(call)?),
        (Call::Chat(call), _) => Request::new("/chat/completions", openai::chat(call, kind)),
        (Call::Responses(_), ProviderKind::Anthropic) => {
            return Err(unsayable("Anthropic has no Responses; the model's endpoint is \"chat\" there"));
        }
        (Call::Responses(_), ProviderKind::LlamaCpp) => {
            return Err(unsayable(
                "llama.cpp's Responses ignore the schema and call a cut answer complete; the model's endpoint is \"chat\" there",
            ));
        }
        (Call::Responses(call), _) => Request::new("/responses", responses::request(call, kind)?),
        (Call::Embeddings(_), ProviderKind::Anthropic) => {
            return Err(unsayable("Anthropic has no embeddings"));
        }
        (Call::Embeddings(call), _) => Request::new("/embeddings", openai::embeddings(call)),
    })
}

/// What reads the answer of a call at a provider of this kind.
pub(crate) fn reader(call: &Call, kind: ProviderKind) -> Box<dyn Reader> {
    match call {
        Call::Chat(_) if kind == ProviderKind::Anthropic => anthropic::reader(),
        Call::Chat(_) => openai::chat_reader(),
        Call::Responses(_) if matches!(kind, ProviderKind::Openai | ProviderKind::Azure) => {
            responses::reader(None)
        }
        Call::Responses(call) => responses::reader(call.max_output_tokens),
        Call::Embeddings(call) => openai::embeddings_reader(call),
    }
}

/// The call asks for what the provider's interface can't say; nothing is sent.
pub(crate) fn unsayable(what: &str) -> Failed {
    Failed::before_send(FailureClass::InvalidRequest, what)
}
