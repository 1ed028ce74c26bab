//! The files that rows refer to.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::records::{BlobFault, Records};

/// Looks at every file that a row refers to: it is there, and its content is that of its name.
pub(super) fn faults(records: &Records, folder: &Path) -> Vec<BlobFault> {
    let faults = records.blobs.iter().filter_map(|(job, digest)| {
        let digest = hex(digest);
        let file = folder.join(digest.get(..2).unwrap_or_default()).join(&digest);
        let problem = match std::fs::read(&file) {
            Ok(bytes) if hex(&Sha256::digest(&bytes)) == digest => return None,
            Ok(_) => "the content of the file is another".to_owned(),
            Err(error) => error.to_string(),
        };
        Some(BlobFault { job: *job, digest, problem })
    });
    faults.collect()
}

/// Bytes in hex digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::records::Id;

    #[test]
    fn a_file_that_is_gone_or_another_is_a_fault() {
        let folder = tempfile::tempdir().unwrap();
        let job = Id([1; 16]);
        let digests =
            [b"kept".as_slice(), b"changed", b"gone"].map(|content| Sha256::digest(content).to_vec());
        for (digest, content) in digests.iter().zip(["kept", "other"]) {
            let name = hex(digest);
            std::fs::create_dir_all(folder.path().join(&name[..2])).unwrap();
            std::fs::write(folder.path().join(&name[..2]).join(&name), content).unwrap();
        }
        let blobs = digests.clone().map(|digest| (Some(job), digest)).to_vec();
        let found = faults(&Records { blobs, ..Records::default() }, folder.path());
        let found: Vec<_> = found.iter().map(|fault| (fault.digest.clone(), fault.job)).collect();
        assert_eq!(found, [(hex(&digests[1]), Some(job)), (hex(&digests[2]), Some(job))]);
    }
}
