//! The blobs that rows refer to.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::records::{BlobFault, Id, Records};

/// Looks at every file that a row refers to: it is there, and its content is that of its name.
pub(super) fn faults(records: &Records, folder: &Path) -> Vec<BlobFault> {
    let faults = records.blobs.iter().filter_map(|(job, digest)| {
        let name = hex(digest);
        let file = folder.join(name.get(..2).unwrap_or_default()).join(&name);
        fault(*job, digest, std::fs::read(&file).map_err(|error| error.to_string()))
    });
    faults.collect()
}

/// What is wrong with a blob: it can't be read, or its content is not that of its digest.
pub(super) fn fault(job: Option<Id>, digest: &[u8], found: Result<Vec<u8>, String>) -> Option<BlobFault> {
    let problem = match found {
        Ok(bytes) if Sha256::digest(&bytes)[..] == *digest => return None,
        Ok(_) => "the content is that of another".to_owned(),
        Err(problem) => problem,
    };
    Some(BlobFault { job, digest: hex(digest), problem })
}

/// Bytes in hex digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
