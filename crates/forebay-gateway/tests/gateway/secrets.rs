//! The key is in the header of the request, and nowhere else.

use forebay_core::definition::Deadlines;
use forebay_gateway::Gateway;
use serde_json::json;

use crate::provider::{Provider, json_response};
use crate::{KEY, attempt, chat, target};

#[tokio::test]
async fn nothing_that_can_be_formatted_shows_the_key() {
    let echo = json!({"error": {"message": format!("Incorrect API key provided: {KEY}"), "code": KEY}});
    let provider = Provider::answering(json_response("401 Unauthorized", &echo)).await;
    let (gateway, chat) = (Gateway::new().unwrap(), chat());
    for base_url in [provider.base_url.clone(), format!("http://{KEY}@localhost:1/v1"), KEY.to_owned()] {
        let target = target(&base_url);
        let report = gateway.call(&target, chat.clone(), Deadlines::default(), attempt(1), crate::NOW).await;
        for shown in [format!("{gateway:?}"), format!("{chat:?}"), format!("{report:#?}")] {
            assert!(!shown.contains(KEY), "{shown}");
        }
        assert!(!format!("{:?}", target.api_key).contains(KEY));
    }
    assert!(!format!("{:?}", target(&provider.base_url)).contains(KEY));
    let [request] = provider.requests().try_into().unwrap();
    assert!(request.header("authorization").unwrap().ends_with(KEY));
}
