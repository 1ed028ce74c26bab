//! The keys of a bucket: where they are, never what they are.
//!
//! Keys that are written down are read here. Those of a role are fetched by the S3 client, which knows how long they
//! are good for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use object_store::CredentialProvider;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredential};

/// Where the keys are. Those that are written down are read for each request, so that rotated ones are used at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and perhaps `AWS_SESSION_TOKEN`; where the first two are not set,
    /// the file that `AWS_SHARED_CREDENTIALS_FILE` names.
    Environment,
    /// A file as the tools of AWS have it, of which the section `AWS_PROFILE` counts, else `default`.
    File(PathBuf),
    /// The role that AWS gives to the pod, the container or the machine, as the variables `AWS_WEB_IDENTITY_TOKEN_FILE`
    /// and `AWS_ROLE_ARN`, or `AWS_CONTAINER_CREDENTIALS_FULL_URI` or `_RELATIVE_URI`, or else the machine's metadata
    /// service say.
    Role,
}

/// There are no usable keys.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NoKeys(String);

type Variables<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// What is to be known about a role, as the S3 client calls it. The variables have the same names in capitals.
const ROLE: [AmazonS3ConfigKey; 8] = [
    AmazonS3ConfigKey::WebIdentityTokenFile,
    AmazonS3ConfigKey::RoleArn,
    AmazonS3ConfigKey::RoleSessionName,
    AmazonS3ConfigKey::StsEndpoint,
    AmazonS3ConfigKey::ContainerCredentialsFullUri,
    AmazonS3ConfigKey::ContainerCredentialsRelativeUri,
    AmazonS3ConfigKey::ContainerAuthorizationTokenFile,
    AmazonS3ConfigKey::MetadataEndpoint,
];

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl KeySource {
    /// Tells the S3 client where its keys come from.
    pub(super) fn applied_to(&self, builder: AmazonS3Builder) -> AmazonS3Builder {
        match self {
            KeySource::Environment => builder.with_credentials(Arc::new(Written { file: None })),
            KeySource::File(file) => builder.with_credentials(Arc::new(Written { file: Some(file.clone()) })),
            KeySource::Role => ROLE.into_iter().fold(builder, |builder, key| {
                match variable(&key.as_ref().to_ascii_uppercase()) {
                    Some(value) => builder.with_config(key, value),
                    None => builder,
                }
            }),
        }
    }
}

/// Keys that are written down, in a file or in the environment.
#[derive(Debug)]
struct Written {
    file: Option<PathBuf>,
}

#[async_trait]
impl CredentialProvider for Written {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let keys = self.read(&variable).await.and_then(usable);
        keys.map(Arc::new).map_err(|problem| object_store::Error::Generic {
            store: "S3",
            source: Box::new(NoKeys(problem)),
        })
    }
}

impl Written {
    async fn read(&self, variable: Variables<'_>) -> Result<AwsCredential, String> {
        const NAMES: [&str; 3] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
        let file = match &self.file {
            Some(file) => file.clone(),
            None => match (NAMES.map(variable), variable("AWS_SHARED_CREDENTIALS_FILE")) {
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

    const ENVIRONMENT: Written = Written { file: None };

    async fn read(source: &Written, variables: &[(&str, &str)]) -> Result<String, String> {
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
        let found = read(&ENVIRONMENT, &both).await;
        assert_eq!(found.unwrap(), "id s None");
        let with_token = [both[0], both[1], ("AWS_SESSION_TOKEN", "t"), ("AWS_SHARED_CREDENTIALS_FILE", "x")];
        assert_eq!(read(&ENVIRONMENT, &with_token).await.unwrap(), "id s Some(\"t\")");
        for (variables, missing) in [
            (&both[1..], "AWS_ACCESS_KEY_ID"),
            (&both[..1], "AWS_SECRET_ACCESS_KEY"),
            (&[], "AWS_ACCESS_KEY_ID"),
        ] {
            let problem = read(&ENVIRONMENT, variables).await.unwrap_err();
            assert!(problem.contains(missing), "{problem}");
        }
        let odd = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "hidden\nsecret")];
        let problem = read(&ENVIRONMENT, &odd).await.unwrap_err();
        assert!(!problem.contains("hidden"), "{problem}");
    }

    #[tokio::test]
    async fn keys_are_in_a_file_and_read_when_they_are_needed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("credentials");
        let source = Written { file: Some(file.clone()) };
        assert!(read(&source, &[]).await.unwrap_err().contains("can't be read"));
        let text = "# ours\n[default]\naws_access_key_id = id\naws_secret_access_key=s\n\n[other]\naws_access_key_id=o\n";
        std::fs::write(&file, text).unwrap();
        assert_eq!(read(&source, &[]).await.unwrap(), "id s None");
        let named = [("AWS_SHARED_CREDENTIALS_FILE", file.to_str().unwrap())];
        assert_eq!(read(&ENVIRONMENT, &named).await.unwrap(), "id s None");
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
