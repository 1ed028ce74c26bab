//! What a process uses, as the operating system counts it.

use std::io;
use std::time::Duration;

/// How long the unit lasts in which Linux counts processor time for other processes to see.
const TICK: Duration = Duration::from_millis(10);

/// What a process has used since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Used {
    /// Processor time, its own and the system's for it, to a hundredth of a second.
    pub(super) cpu: Duration,
    /// Bytes in memory now.
    pub(super) memory: u64,
    /// The most bytes that it had in memory.
    pub(super) peak: u64,
}

/// What the process has used so far.
///
/// # Errors
///
/// When the process is gone, or the system is not Linux, whose files under `/proc` tell.
pub(super) fn used(pid: u32) -> io::Result<Used> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    read(&status, &stat).ok_or_else(|| io::Error::other(format!("/proc/{pid} reads otherwise than expected")))
}

fn read(status: &str, stat: &str) -> Option<Used> {
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1_024)
    };
    // The name of the program stands in brackets and may hold anything; fields are counted behind it.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    Some(Used { cpu: TICK * (ticks()? + ticks()?), memory: bytes("VmRSS")?, peak: bytes("VmHWM")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_writes_is_read() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 25 5 0 0 20 0";
        let used = read(status, stat).unwrap();
        assert_eq!(used, Used { cpu: Duration::from_millis(300), memory: 1 << 20, peak: 2 << 20 });
        assert_eq!(read(status, "7 (a) S"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory() {
        let used = used(std::process::id()).unwrap();
        assert!(used.memory > 0 && used.peak >= used.memory);
    }
}
