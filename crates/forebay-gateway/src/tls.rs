//! Whose certificates are believed.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// TLS for provider calls: rustls with ring, certificates by the roots of [`roots`].
pub(crate) fn client_config() -> Result<ClientConfig, rustls::Error> {
    // No provider is installed for the process: that belongs to the program, not to a library.
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots()).with_no_client_auth())
}

/// The roots of the operating system (or of `SSL_CERT_FILE`), because a provider inside a company has a
/// certificate of that company's own authority, and whoever runs the machine decides whom it believes. Where
/// there are none, as in a container that holds nothing but this program, the roots that Mozilla publishes.
fn roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "part of the system's trusted certificates can't be read");
    }
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_always_roots() {
        assert!(!roots().is_empty());
        assert!(client_config().is_ok());
    }
}
