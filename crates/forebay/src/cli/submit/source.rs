//! What a job is made of: files, standard input, text on the command line.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::super::error::CliError;

/// Where one job's input comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// From a file.
    File(PathBuf),
    /// From standard input; written `-`.
    Stdin,
}

impl Source {
    /// Reads what an argument names.
    pub fn of(argument: &Path) -> Self {
        if argument == Path::new("-") { Source::Stdin } else { Source::File(argument.to_owned()) }
    }

    /// The name that people know it by.
    pub fn name(&self) -> String {
        match self {
            Source::File(path) => path.display().to_string(),
            Source::Stdin => "standard input".to_owned(),
        }
    }

    /// Its bytes and what kind they are.
    ///
    /// # Errors
    ///
    /// When it can't be read.
    pub async fn read(&self) -> Result<Content, CliError> {
        let failed =
            |error: std::io::Error| CliError::failed(&format!("{} can't be read", self.name()), &error);
        match self {
            Source::File(path) => {
                let bytes = Bytes::from(tokio::fs::read(path).await.map_err(failed)?);
                Ok(Content { media_type: media_type(path, &bytes), bytes })
            }
            Source::Stdin => {
                let bytes = Bytes::from(read_stdin().await.map_err(failed)?);
                Ok(Content { media_type: media_type(Path::new(""), &bytes), bytes })
            }
        }
    }
}

/// Not on a worker of the runtime: a signal must be able to end the command while nobody types.
async fn read_stdin() -> std::io::Result<Vec<u8>> {
    let read = tokio::task::spawn_blocking(|| {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    });
    read.await.map_err(std::io::Error::other)?
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The bytes, as they are.
    pub bytes: Bytes,
    /// What kind of text or data they are.
    pub media_type: &'static str,
}

impl Content {
    /// The content as text.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub fn text(&self, name: &str) -> Result<String, CliError> {
        let text = std::str::from_utf8(&self.bytes).map_err(|_| {
            let fix = "this task takes text: convert the file, or submit it to a task of the kind `extract`";
            CliError::usage(format!("{name} is no UTF-8 text"), fix)
        })?;
        Ok(text.to_owned())
    }
}

/// By the extension; without a known one, plain text where the bytes are text.
fn media_type(path: &Path, bytes: &[u8]) -> &'static str {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "txt" | "text" | "log" => "text/plain",
        "md" | "markdown" => "text/markdown",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "json" => "application/json",
        "xml" => "application/xml",
        "eml" => "message/rfc822",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "tif" | "tiff" => "image/tiff",
        "webp" => "image/webp",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        _ if std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0')) => "text/plain",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_tells_the_media_type() {
        for (name, expected) in [
            ("a.txt", "text/plain"),
            ("A.JSON", "application/json"),
            ("a.b.md", "text/markdown"),
            ("x.csv", "text/csv"),
            ("x.html", "text/html"),
            ("invoice.pdf", "application/pdf"),
        ] {
            assert_eq!(media_type(Path::new(name), b"\xff"), expected, "{name}");
        }
    }

    #[test]
    fn without_an_extension_the_bytes_tell() {
        assert_eq!(media_type(Path::new("README"), "Grüße".as_bytes()), "text/plain");
        assert_eq!(media_type(Path::new(""), b"\xff\xfe"), "application/octet-stream");
        assert_eq!(media_type(Path::new(""), b"a\0b"), "application/octet-stream");
    }

    #[tokio::test]
    async fn a_missing_file_is_named() {
        let error = Source::of(Path::new("/nowhere/a.txt")).read().await.unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/a.txt can't be read: "), "{error}");
        assert_eq!(Source::of(Path::new("-")), Source::Stdin);
    }
}
