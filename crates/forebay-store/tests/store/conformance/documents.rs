//! Documents by tenant and digest.

use forebay_core::digest::Digest;
use forebay_store::record::NewDocument;

use crate::bundle::Bundle;

fn invoice(tenant: i64) -> NewDocument {
    NewDocument { tenant, digest: Digest::of(b"an invoice"), bytes: 10, media_type: "text/plain".to_owned() }
}

pub async fn a_document_is_kept_once(b: &Bundle) {
    let (first, new) = b.store().add_document(invoice(b.alpha)).await.unwrap();
    assert!(new);
    assert_eq!((first.bytes, &first.media_type[..], first.created_at), (10, "text/plain", b.now()));
    b.wait_secs(1);
    assert_eq!(b.store().add_document(invoice(b.alpha)).await.unwrap(), (first.clone(), false));
    assert_eq!(b.store().document(b.alpha, first.digest).await.unwrap(), Some(first));
}

/// I27: the same bytes of two tenants are two documents.
pub async fn a_document_is_its_tenants(b: &Bundle) {
    let (document, _) = b.store().add_document(invoice(b.alpha)).await.unwrap();
    assert_eq!(b.store().document(b.beta, document.digest).await.unwrap(), None);
    assert!(b.store().add_document(invoice(b.beta)).await.unwrap().1);
}
