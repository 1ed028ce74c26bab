//! The keys of a bucket: where they are, never what they are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;

/// Where the keys are. They are read for each request, so that rotated ones are used at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and perhaps `AWS_SESSION_TOKEN`; where the first two are not set,
    /// the file that `AWS_SHARED_CREDENTIALS_FILE` names.
    Environment,
    /// A file as the tools of AWS have it, of which the section `AWS_PROFILE` counts, else `default`.
    File(PathBuf),
}

/// There are no usable keys.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NoKeys(String);

#[async_trait]
impl CredentialProvider for KeySource {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let keys = self.read(&variable).await.and_then(usable);
        keys.map(Arc::new).map_err(|problem| object_store::Error::Generic {
            store: "S3",
            source: Box::new(NoKeys(problem)),
        })
    }
}

type Variables<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

impl KeySource {
    async fn read(&self, variable: Variables<'_>) -> Result<AwsCredential, String> {
        const NAMES: [&str; 3] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
        let file = match self {
            KeySource::File(file) => file.clone(),
            KeySource::Environment => match (NAMES.map(variable), variable("AWS_SHARED_CREDENTIALS_FILE")) {
                ([Some(key_id), Some(secret_key), token], _) => {
                    return Ok(AwsCredential { key_id, secret_key, token });
                }
                ([None, None, _], Some(file)) => PathBuf::from(file),
                ([key_id, _, _], _) => {
                    let missing = if key_id.is_none() { NAMES[0] } else { NAMES[1] };
                    return Err(format!(
                        "the environment variable {missing}, which holds a key of the bucket, is not set"
                    ));
                }
            },
        };
        let section = variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        let read = tokio::fs::read_to_string(&file).await;
        let text = read.map_err(|error| unreadable(&file, &format!("can't be read: {error}")))?;
        from_text(&text, &section).map_err(|problem| unreadable(&file, &problem))
    }
}

fn unreadable(file: &Path, problem: &str) -> String {
    format!("the file {}, which holds the keys of the bucket, {problem}", file.display())
}

/// Reads a section of a credentials file.
fn from_text(text: &str, section: &str) -> Result<AwsCredential, String> {
    let header = format!("[{section}]");
    let mut lines = text.lines().map(str::trim).skip_while(|line| *line != header);
    lines.next().ok_or_else(|| format!("has no section {header}"))?;
    let own: Vec<_> = lines
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once('=').map(|(name, value)| (name.trim(), value.trim())))
        .collect();
    let value =
        |wanted: &str| own.iter().find(|(name, _)| *name == wanted).map(|(_, value)| (*value).to_owned());
    let needed = |name: &str| value(name).ok_or_else(|| format!("has no {name} in its section {header}"));
    Ok(AwsCredential {
        key_id: needed("aws_access_key_id")?,
        secret_key: needed("aws_secret_access_key")?,
        token: value("aws_session_token"),
    })
}

/// The keys, if they can stand in a header, as they must.
fn usable(keys: AwsCredential) -> Result<AwsCredential, String> {
    let all = [Some(&keys.key_id), Some(&keys.secret_key), keys.token.as_ref()];
    let is_clean = |key: &String| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
    if all.into_iter().flatten().all(is_clean) {
        return Ok(keys);
    }
    Err("a key of the bucket is empty, or holds blanks or other characters that no key has".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(source: &KeySource, variables: &[(&str, &str)]) -> Result<String, String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let AwsCredential { key_id, secret_key, token } = source.read(&variable).await.and_then(usable)?;
        Ok(format!("{key_id} {secret_key} {token:?}"))
    }

    #[tokio::test]
    async fn keys_are_in_the_environment() {
        let both = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "s")];
        let found = read(&KeySource::Environment, &both).await;
        assert_eq!(found.unwrap(), "id s None");
        let with_token = [both[0], both[1], ("AWS_SESSION_TOKEN", "t"), ("AWS_SHARED_CREDENTIALS_FILE", "x")];
        assert_eq!(read(&KeySource::Environment, &with_token).await.unwrap(), "id s Some(\"t\")");
        for (variables, missing) in [
            (&both[1..], "AWS_ACCESS_KEY_ID"),
            (&both[..1], "AWS_SECRET_ACCESS_KEY"),
            (&[], "AWS_ACCESS_KEY_ID"),
        ] {
            let problem = read(&KeySource::Environment, variables).await.unwrap_err();
            assert!(problem.contains(missing), "{problem}");
        }
        let odd = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "hidden\nsecret")];
        let problem = read(&KeySource::Environment, &odd).await.unwrap_err();
        assert!(!problem.contains("hidden"), "{problem}");
    }

    #[tokio::test]
    async fn keys_are_in_a_file_and_read_when_they_are_needed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("credentials");
        let source = KeySource::File(file.clone());
        assert!(read(&source, &[]).await.unwrap_err().contains("can't be read"));
        let text = "# ours\n[default]\naws_access_key_id = id\naws_secret_access_key=s\n\n[other]\naws_access_key_id=o\n";
        std::fs::write(&file, text).unwrap();
        assert_eq!(read(&source, &[]).await.unwrap(), "id s None");
        let named = [("AWS_SHARED_CREDENTIALS_FILE", file.to_str().unwrap())];
        assert_eq!(read(&KeySource::Environment, &named).await.unwrap(), "id s None");
        let problem = read(&source, &[("AWS_PROFILE", "other")]).await.unwrap_err();
        assert!(problem.ends_with("has no aws_secret_access_key in its section [other]"), "{problem}");
        assert!(
            read(&source, &[("AWS_PROFILE", "none")]).await.unwrap_err().ends_with("has no section [none]")
        );
        std::fs::write(
            &file,
            "[default]\naws_access_key_id=new\naws_secret_access_key=s2\naws_session_token=t",
        )
        .unwrap();
        assert_eq!(read(&source, &[]).await.unwrap(), "new s2 Some(\"t\")");
    }
}
