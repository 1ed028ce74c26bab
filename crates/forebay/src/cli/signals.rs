//! SIGINT and SIGTERM.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::error::CliError;

/// Listens for the signals that ask a process to end. From then on they no longer end it by themselves.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Starts to listen.
    ///
    /// # Errors
    ///
    /// When the operating system refuses.
    pub fn listen() -> Result<Self, CliError> {
        let listen =
            |kind| signal(kind).map_err(|error| CliError::failed("can't listen for signals", &error));
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
