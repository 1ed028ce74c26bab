//! What an answer says it used.

use forebay_core::attempt::Usage;
use serde_json::Value;

use crate::said::{believable, tokens};

/// The usage of a chat completion; `None` when it is missing, all zero, or not believable.
///
/// Of input, output and total two are enough. OpenAI counts reasoning within the output; servers that count
/// it beside (as the total shows) are brought to the same form.
pub(super) fn of_chat(usage: &Value) -> Option<Usage> {
    let total = tokens(&usage["total_tokens"]);
    let reasoning = tokens(&usage["completion_tokens_details"]["reasoning_tokens"]).unwrap_or(0);
    let (input, output) = match (tokens(&usage["prompt_tokens"]), tokens(&usage["completion_tokens"]), total)
    {
        (Some(input), Some(output), Some(total)) if total == input + output + reasoning => {
            (input, output + reasoning)
        }
        (Some(input), Some(output), _) => (input, output),
        (Some(input), None, Some(total)) => (input, total.checked_sub(input)?),
        (None, Some(output), Some(total)) => (total.checked_sub(output)?, output),
        _ => return None,
    };
    let detail = |name: &str| tokens(&usage["prompt_tokens_details"][name]).unwrap_or(0);
    believable(Usage {
        input_tokens: input,
        cached_input_tokens: detail("cached_tokens").min(input),
        cache_write_tokens: detail("cache_write_tokens").min(input),
        output_tokens: output,
        reasoning_tokens: reasoning.min(output),
    })
}

/// The usage of embeddings, which have no output.
pub(super) fn of_embeddings(usage: &Value) -> Option<Usage> {
    let input_tokens = tokens(&usage["prompt_tokens"]).or_else(|| tokens(&usage["total_tokens"]))?;
    believable(Usage { input_tokens, ..Usage::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn usage(input: u64, cached: u64, output: u64, reasoning: u64) -> Option<Usage> {
        Some(Usage {
            input_tokens: input,
            cached_input_tokens: cached,
            output_tokens: output,
            reasoning_tokens: reasoning,
            ..Usage::default()
        })
    }

    #[test]
    fn usage_of_chats() {
        let cached = json!({"cached_tokens": 4});
        let reasoning = json!({"reasoning_tokens": 5});
        for (said, expected) in [
            (json!({"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17}), usage(10, 0, 7, 0)),
            (json!({"prompt_tokens": 10, "completion_tokens": 7}), usage(10, 0, 7, 0)),
            (json!({"prompt_tokens": 10, "total_tokens": 17}), usage(10, 0, 7, 0)),
            (json!({"completion_tokens": 7, "total_tokens": 17}), usage(10, 0, 7, 0)),
            (
                json!({"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17,
                    "prompt_tokens_details": cached, "completion_tokens_details": reasoning}),
                usage(10, 4, 7, 5),
            ),
            (
                json!({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 17,
                    "completion_tokens_details": reasoning}),
                usage(10, 0, 7, 5),
            ),
            (
                json!({"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": cached,
                    "completion_tokens_details": reasoning}),
                usage(1, 1, 2, 2),
            ),
            (
                json!({"prompt_tokens": 10, "completion_tokens": 7, "prompt_tokens_details": null,
                    "completion_tokens_details": {"reasoning_tokens": null}}),
                usage(10, 0, 7, 0),
            ),
            (json!({"prompt_tokens": -1, "completion_tokens": 7}), None),
            (json!({"prompt_tokens": 10, "completion_tokens": u64::MAX}), None),
            (json!({"prompt_tokens": 1e300, "completion_tokens": 7}), None),
            (json!({"prompt_tokens": "10", "completion_tokens": 7}), None),
            (json!({"prompt_tokens": 10, "completion_tokens": null}), None),
            (json!({"prompt_tokens": 10, "total_tokens": 3}), None),
            (json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}), None),
            (json!({"total_tokens": 17}), None),
            (json!({}), None),
            (json!(null), None),
            (json!([1, 2]), None),
        ] {
            assert_eq!(of_chat(&said), expected, "{said}");
        }
    }

    #[test]
    fn usage_of_embeddings() {
        for (said, expected) in [
            (json!({"prompt_tokens": 10, "total_tokens": 10}), usage(10, 0, 0, 0)),
            (json!({"total_tokens": 10}), usage(10, 0, 0, 0)),
            (json!({"prompt_tokens": 0, "total_tokens": 0}), None),
            (json!(null), None),
        ] {
            assert_eq!(of_embeddings(&said), expected, "{said}");
        }
    }
}
