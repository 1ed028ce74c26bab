//! What the answer of an embeddings call says.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use forebay_core::attempt::Usage;
use forebay_core::failure::FailureClass;
use serde_json::Value;

use super::usage;
use crate::failed::Failed;
use crate::report::Answer;
use crate::said::{model_of, parse_document};
use crate::sse::Event;
use crate::wire::{Flow, Reader, Reading};

/// An answer so far.
#[derive(Debug)]
pub(super) struct Draft {
    inputs: usize,
    vectors: Vec<Vec<f32>>,
    usage: Option<Usage>,
    model: Option<String>,
}

impl Draft {
    /// Expects one vector for each of so many inputs.
    pub(super) fn new(inputs: usize) -> Self {
        Self { inputs, vectors: Vec::new(), usage: None, model: None }
    }
}

impl Reader for Draft {
    fn event(&mut self, _: &Event) -> Result<Flow, Failed> {
        Err(Failed::after_send(FailureClass::ProviderError, "embeddings came as a stream of events"))
    }

    fn document(&mut self, body: &[u8]) -> Result<(), Failed> {
        let document = parse_document(body)?;
        self.model = model_of(&document);
        self.usage = usage::of_embeddings(&document["usage"]);
        self.vectors = vectors(&document["data"], self.inputs)
            .map_err(|what| Failed::after_send(FailureClass::InvalidOutput, what))?;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Reading {
        let answer = Ok(Answer::Embeddings { vectors: self.vectors });
        Reading { answer, text: None, usage: self.usage, model: self.model }
    }
}

/// The vectors in the order of the inputs, or what is wrong with them.
fn vectors(data: &Value, inputs: usize) -> Result<Vec<Vec<f32>>, &'static str> {
    let data = data.as_array().ok_or("the answer has no `data`")?;
    if data.len() != inputs {
        return Err("the answer has not one vector for each input");
    }
    let mut vectors = vec![Vec::new(); inputs];
    for (position, item) in data.iter().enumerate() {
        let index = item["index"].as_u64().map_or(Some(position), |index| usize::try_from(index).ok());
        let place = index.and_then(|index| vectors.get_mut(index)).ok_or("a vector is of no input")?;
        if !place.is_empty() {
            return Err("two vectors are of the same input");
        }
        *place = vector(&item["embedding"]).ok_or("a vector is empty or not of finite numbers")?;
    }
    let dimensions = vectors.first().map(Vec::len);
    if vectors.iter().any(|vector| Some(vector.len()) != dimensions) {
        return Err("the vectors are of different lengths");
    }
    Ok(vectors)
}

/// A vector as an array of numbers, or as base64 of little-endian 32-bit floats.
fn vector(embedding: &Value) -> Option<Vec<f32>> {
    #[allow(clippy::cast_possible_truncation, reason = "embeddings are 32-bit floats")]
    let vector: Vec<f32> = match embedding {
        Value::Array(numbers) => {
            numbers.iter().map(|number| Some(number.as_f64()? as f32)).collect::<Option<_>>()?
        }
        Value::String(base64) => {
            let bytes = STANDARD.decode(base64).ok()?;
            let (floats, []) = bytes.as_chunks() else { return None };
            floats.iter().map(|float| f32::from_le_bytes(*float)).collect()
        }
        _ => return None,
    };
    (!vector.is_empty() && vector.iter().all(|number| number.is_finite())).then_some(vector)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: &Value, inputs: usize) -> Result<Answer, FailureClass> {
        let mut draft = Box::new(Draft::new(inputs));
        let read = draft.document(body.to_string().as_bytes());
        read.and_then(|()| draft.finish().answer).map_err(|failed| failed.failure.class)
    }

    fn base64(vector: &[f32]) -> Value {
        json!(STANDARD.encode(vector.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>()))
    }

    #[test]
    fn arrays_and_base64_in_any_order() {
        let expected = Answer::Embeddings { vectors: vec![vec![0.5, -1.0], vec![0.25, 2.0]] };
        for data in [
            json!([{"index": 0, "embedding": [0.5, -1]}, {"index": 1, "embedding": [0.25, 2.0]}]),
            json!([{"index": 1, "embedding": [0.25, 2.0]}, {"index": 0, "embedding": [0.5, -1]}]),
            json!([{"embedding": [0.5, -1]}, {"embedding": [0.25, 2.0]}]),
            json!([{"index": 1, "embedding": base64(&[0.25, 2.0])}, {"embedding": [0.5, -1], "index": 0}]),
        ] {
            assert_eq!(read(&json!({"data": data}), 2), Ok(expected.clone()), "{data}");
        }
    }

    #[test]
    fn what_is_not_one_good_vector_for_each_input_is_no_answer() {
        let good = json!({"index": 0, "embedding": [0.5]});
        for data in [
            json!(null),
            json!([]),
            json!([good]),
            json!([good, good]),
            json!([good, good, good]),
            json!([good, {"index": 2, "embedding": [0.5]}]),
            json!([good, {"index": 1, "embedding": [0.5, 0.5]}]),
            json!([good, {"index": 1, "embedding": []}]),
            json!([good, {"index": 1, "embedding": [null]}]),
            json!([good, {"index": 1, "embedding": [1e300]}]),
            json!([good, {"index": 1, "embedding": "not base64"}]),
            json!([good, {"index": 1, "embedding": "AAAA"}]),
            json!([good, {"index": 1, "embedding": base64(&[f32::NAN])}]),
            json!([good, {"index": 1}]),
        ] {
            assert_eq!(read(&json!({"data": data}), 2), Err(FailureClass::InvalidOutput), "{data}");
        }
    }

    #[test]
    fn an_error_body_is_no_answer() {
        let body = json!({"error": {"message": "no quota", "code": "insufficient_quota"}});
        assert_eq!(read(&body, 1), Err(FailureClass::QuotaExhausted));
    }
}
