//! Where blobs are kept: `folder:PATH`, or `s3://BUCKET/PREFIX` with what is to be known about its service.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use forebay_store::blob::s3::{KeySource, S3Bucket};
use reqwest::Url;

use super::StoreUrl;
use super::given::{Given, Origin, Raw};
use super::key::Key;
use super::ready::{Reader, Refusal};

/// Where blobs are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobPlace {
    /// A folder that this process sees.
    Folder(PathBuf),
    /// A bucket that any process may reach.
    Bucket(Box<S3Bucket>),
}

impl fmt::Display for BlobPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlobPlace::Folder(path) => write!(f, "the folder {}", path.display()),
            BlobPlace::Bucket(bucket) => bucket.fmt(f),
        }
    }
}

/// What is written under `blobs`.
enum Written {
    Beside,
    Folder(PathBuf),
    Bucket { name: String, prefix: String },
}

/// Reads the keys about blobs; those about a bucket only where there is one. `beside` is the store beside which they
/// are unless something else is written.
pub(super) fn place(
    reader: &mut Reader<'_>,
    beside: Option<&StoreUrl>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Option<BlobPlace> {
    let (name, prefix) = match reader.read(Key::Blobs, written)? {
        Written::Beside => return beside.map(|store| BlobPlace::Folder(store.blob_folder())),
        Written::Folder(path) => return Some(BlobPlace::Folder(path)),
        Written::Bucket { name, prefix } => (name, prefix),
    };
    let or_variable = |given: &Given, names: [&str; 2]| {
        let is_empty = given.text().is_some_and(str::is_empty);
        let set = names.into_iter().find_map(|name| Some((name, variable(name)?))).filter(|_| is_empty);
        set.map_or_else(
            || given.clone(),
            |(name, value)| Given { raw: Raw::Text(value), origin: Origin::Environment(name.to_owned()) },
        )
    };
    let plain = reader.read(Key::BlobsPlainHttp, |given| one_of(given, ["loopback", "anywhere"]));
    let endpoint = reader.read_as(
        Key::BlobsEndpoint,
        |given| or_variable(given, ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]),
        |given| endpoint(given, plain == Some("anywhere")),
    );
    let region = reader.read_as(
        Key::BlobsRegion,
        |given| or_variable(given, ["AWS_REGION", "AWS_DEFAULT_REGION"]),
        region,
    );
    let addressing = reader.read(Key::BlobsAddressing, |given| one_of(given, ["auto", "path", "virtual"]));
    let keys = reader.read(Key::BlobsCredentials, credentials);
    let (endpoint, addressing) = (endpoint?, addressing?);
    // The certificates of AWS are for names without further dots.
    let suits_host = endpoint.is_none() && !name.contains('.');
    plain?;
    Some(BlobPlace::Bucket(Box::new(S3Bucket {
        in_host: addressing == "virtual" || addressing == "auto" && suits_host,
        name,
        prefix,
        endpoint,
        region: region?,
        keys: keys?,
    })))
}

fn written(given: &Given) -> Result<Written, Refusal> {
    let refuse = |problem: &str| {
        let fix = "write \"folder:PATH\" or \"s3://BUCKET/PREFIX\"; leave it empty for a folder beside the database";
        Err((problem.to_owned(), fix.to_owned()))
    };
    match given.text().map(|text| text.split_once(':').unwrap_or((text, ""))) {
        Some(("", "")) => Ok(Written::Beside),
        Some(("folder", "")) => refuse("the path is missing"),
        Some(("folder", path)) => Ok(Written::Folder(PathBuf::from(path))),
        Some(("s3", bucket)) => {
            let Some(bucket) = bucket.strip_prefix("//") else { return refuse("the bucket is missing") };
            let (name, prefix) = bucket.split_once('/').unwrap_or((bucket, ""));
            let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
            if !is_bucket(name) {
                return refuse("a bucket's name has 3 to 63 lower-case letters, digits, dots and hyphens");
            }
            if !is_prefix(prefix) {
                return refuse("a prefix has letters, digits and any of !-_.*'() between its slashes");
            }
            Ok(Written::Bucket { name: name.to_owned(), prefix: prefix.to_owned() })
        }
        _ => refuse("neither a folder nor a bucket"),
    }
}

fn is_bucket(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    (3..=63).contains(&bytes.len())
        && bytes.iter().all(|byte| plain(*byte) || matches!(byte, b'.' | b'-'))
        && [bytes.first(), bytes.last()].into_iter().flatten().all(|byte| plain(*byte))
}

fn is_prefix(prefix: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!-_.*'()".contains(&byte);
    let part = |part: &str| !matches!(part, "" | "." | "..") && part.bytes().all(plain);
    prefix.len() <= 500 && (prefix.is_empty() || prefix.split('/').all(part))
}

/// `None` for the one of AWS.
fn endpoint(given: &Given, plain_anywhere: bool) -> Result<Option<String>, Refusal> {
    let refuse = |problem: &str, fix: &str| Err((problem.to_owned(), fix.to_owned()));
    let fix = "write https:// and a host, such as \"https://minio.example:9000\"; leave it empty for AWS";
    match given.text() {
        None => return refuse("not an address", fix),
        Some("") => return Ok(None),
        Some(_) => {}
    }
    let text = given.text().unwrap_or_default().trim_end_matches('/');
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let Some(url) = url else { return refuse("not an address of HTTP", fix) };
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("an address holds no keys", "name where they are in blobs_credentials");
    }
    if url.query().is_some() || url.fragment().is_some() || !text.bytes().all(|byte| byte.is_ascii_graphic())
    {
        return refuse("an address ends with its path", fix);
    }
    if url.scheme() == "http" && !plain_anywhere && !is_loopback(&url) {
        let fix = "write https://, or set blobs_plain_http to \"anywhere\" if nobody else is on the way";
        return refuse("without TLS, documents can be read on the way to another machine", fix);
    }
    Ok(Some(text.to_owned()))
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn region(given: &Given) -> Result<String, Refusal> {
    let plain = |text: &str| {
        text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    match given.text() {
        Some("") => Ok("us-east-1".to_owned()),
        Some(text) if plain(text) => Ok(text.to_owned()),
        _ => Err((
            "not the name of a region".to_owned(),
            "write it as the service does, such as \"eu-central-1\"".to_owned(),
        )),
    }
}

fn credentials(given: &Given) -> Result<KeySource, Refusal> {
    match given.text().map(|text| (text, text.strip_prefix("file:"))) {
        Some(("environment", _)) => Ok(KeySource::Environment),
        Some(("role", _)) => Ok(KeySource::Role),
        Some((_, Some(path))) if !path.is_empty() => Ok(KeySource::File(PathBuf::from(path))),
        _ => {
            let fix = "write \"environment\" for AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, \"file:PATH\" for a \
                       credentials file as the tools of AWS have it, or \"role\" for the role that AWS gives to this machine; the keys themselves never stand here";
            Err(("this names no place where keys are".to_owned(), fix.to_owned()))
        }
    }
}

fn one_of<const N: usize>(given: &Given, known: [&'static str; N]) -> Result<&'static str, Refusal> {
    let found = known.into_iter().find(|word| given.text() == Some(word));
    found.ok_or_else(|| {
        ("not one of the words that it may be".to_owned(), format!("write one of {}", known.join(", ")))
    })
}
