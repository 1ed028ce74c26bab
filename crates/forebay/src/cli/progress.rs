//! Progress on standard error: shown to people, never to scripts.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::{Output, shown};

/// A bar over a known number of things; hidden in JSON mode and where standard error is no terminal.
pub fn bar(output: &Output, count: usize, what: &str) -> ProgressBar {
    let style = "{msg} [{bar:32}] {pos}/{len} {eta}";
    let bar = ProgressBar::with_draw_target(u64::try_from(count).ok(), target(output));
    styled(bar, style, what)
}

/// A sign of life while something of unknown length goes on.
pub fn spinner(output: &Output, what: &str) -> ProgressBar {
    let spinner = ProgressBar::with_draw_target(None, target(output));
    styled(spinner, "{spinner} {msg} {elapsed}", what)
}

/// A bar that shows nothing.
pub fn hidden() -> ProgressBar {
    ProgressBar::hidden()
}

fn target(output: &Output) -> ProgressDrawTarget {
    // The target itself hides where standard error is no terminal.
    if output.is_json() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
}

fn styled(bar: ProgressBar, style: &str, what: &str) -> ProgressBar {
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(shown(what));
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
