//! The one place that prints. Data goes to standard output, everything said about it to standard error.
//!
//! Text from a server may hold anything a model or a caller wrote, so that on a terminal control characters
//! are shown, not obeyed. In a file or a pipe a result keeps its bytes.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use comfy_table::Table;
use forebay_core::text::storable;
use serde::Serialize;
use serde_json::{Value, json};

use super::error::CliError;

/// How something turned out, for a line with a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// As it should be.
    Ok,
    /// Worth a look.
    Warn,
    /// Not as it should be.
    Fail,
}

impl Mark {
    /// The word on the line.
    pub const fn word(self) -> &'static str {
        match self {
            Mark::Ok => "ok",
            Mark::Warn => "warn",
            Mark::Fail => "fail",
        }
    }

    const fn color(self) -> &'static str {
        match self {
            Mark::Ok => GREEN,
            Mark::Warn => YELLOW,
            Mark::Fail => RED,
        }
    }
}

/// How a piece of a line stands out from the rest of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Not at all.
    Plain,
    /// A title.
    Strong,
    /// Less than the rest.
    Faint,
    /// A place that a value was taken from; without colors in `[` and `]`.
    Evidence,
    /// Something in doubt; without colors in `[?` and `?]`.
    Doubt,
}

impl Ink {
    const fn color(self) -> &'static str {
        match self {
            Ink::Plain => "",
            Ink::Strong => "\u{1b}[1m",
            Ink::Faint => "\u{1b}[2m",
            Ink::Evidence => "\u{1b}[30;42m",
            Ink::Doubt => "\u{1b}[30;43m",
        }
    }

    /// What stands around it where there are no colors.
    const fn marks(self) -> (&'static str, &'static str) {
        match self {
            Ink::Plain | Ink::Strong | Ink::Faint => ("", ""),
            Ink::Evidence => ("[", "]"),
            Ink::Doubt => ("[?", "?]"),
        }
    }
}

/// A line of pieces that stand out in different ways.
pub type Inked = Vec<(Ink, String)>;

const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const YELLOW: &str = "\u{1b}[33m";
const RESET: &str = "\u{1b}[0m";

struct Stream {
    writer: Mutex<Box<dyn Write + Send>>,
    is_terminal: bool,
    has_color: bool,
}

impl Stream {
    fn new(writer: impl Write + IsTerminal + Send + 'static) -> Self {
        let is_terminal = writer.is_terminal();
        let has_color = is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { writer: Mutex::new(Box::new(writer)), is_terminal, has_color }
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.write_all(text.as_bytes())?;
        writer.flush()
    }

    fn paint(&self, color: &str, text: &str) -> String {
        if self.has_color { format!("{color}{text}{RESET}") } else { text.to_owned() }
    }
}

/// Where a command prints.
pub struct Output {
    json: bool,
    out: Stream,
    err: Stream,
}

impl Output {
    /// Prints to the process's standard output and error; as JSON lines where asked for.
    pub fn new(json: bool) -> Self {
        Self { json, out: Stream::new(io::stdout()), err: Stream::new(io::stderr()) }
    }

    /// Whether data is printed as JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether a person watches standard output.
    pub fn is_terminal(&self) -> bool {
        self.out.is_terminal
    }

    /// One line of data for people.
    pub fn line(&self, text: &str) -> Result<(), CliError> {
        self.print(&format!("{}\n", shown(text)))
    }

    /// One JSON document on one line.
    pub fn record(&self, value: &impl Serialize) -> Result<(), CliError> {
        let text =
            serde_json::to_string(value).map_err(|error| CliError::failed("can't write JSON", &error))?;
        self.print(&format!("{text}\n"))
    }

    /// A result: text as it is, everything else as indented JSON.
    pub fn result(&self, value: &Value) -> Result<(), CliError> {
        let text = match value {
            Value::String(text) if self.out.is_terminal => shown(text),
            Value::String(text) => text.clone(),
            other => format!("{other:#}"),
        };
        let end = if text.ends_with('\n') { "" } else { "\n" };
        self.print(&format!("{text}{end}"))
    }

    /// A table.
    pub fn table(&self, mut table: Table) -> Result<(), CliError> {
        if !self.out.has_color {
            table.force_no_tty();
        }
        self.print(&format!("{}\n", table.trim_fmt()))
    }

    /// A line with a mark in front.
    pub fn marked(&self, mark: Mark, text: &str) -> Result<(), CliError> {
        let word = self.out.paint(mark.color(), &format!("{:<4}", mark.word()));
        self.print(&format!("{word}  {}\n", shown(text)))
    }

    /// A line of pieces.
    pub fn inked(&self, pieces: &[(Ink, String)]) -> Result<(), CliError> {
        let mut line = String::new();
        for (ink, text) in pieces {
            let text = shown(text);
            let (before, after) = if self.out.has_color { ("", "") } else { ink.marks() };
            let painted = if *ink == Ink::Plain { text } else { self.out.paint(ink.color(), &text) };
            line.push_str(&format!("{before}{painted}{after}"));
        }
        self.print(&format!("{}\n", line.trim_end()))
    }

    /// A question, without an end of line behind it.
    pub fn ask(&self, question: &str) {
        self.say(&shown(question));
    }

    /// A remark beside the data; none is made in JSON mode. That it can't be written is no failure.
    pub fn note(&self, text: &str) {
        if !self.json {
            self.say(&format!("{}\n", shown(text)));
        }
    }

    /// Why the command failed.
    pub fn error(&self, error: &CliError) {
        if self.json {
            let code = error.exit().code();
            let report = json!({ "error": { "exit_code": code, "message": error.to_string(), "problem": error.problem() } });
            self.say(&format!("{report}\n"));
        } else {
            let word = self.err.paint(RED, "error");
            self.say(&format!("{word}: {}\n", shown(&error.to_string())));
        }
    }

    /// What the argument parser has to say: help, version, or what is wrong with the arguments.
    pub fn usage(error: &clap::Error) {
        // With nobody left to read it there is nobody to tell.
        drop(error.print());
    }

    fn print(&self, text: &str) -> Result<(), CliError> {
        self.out.write(text).map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => CliError::OutputClosed,
            _ => CliError::failed("can't write to standard output", &error),
        })
    }

    fn say(&self, text: &str) {
        // Standard error is the place to complain; when it is gone, the exit code still tells.
        drop(self.err.write(text));
    }
}

/// Text from outside, harmless on a terminal.
pub(super) fn shown(text: &str) -> String {
    storable(text, text.len())
}

#[cfg(test)]
impl Output {
    /// Prints into these; as if nobody watched.
    pub(super) fn into(
        json: bool,
        out: impl Write + Send + 'static,
        err: impl Write + Send + 'static,
    ) -> Self {
        fn stream(writer: impl Write + Send + 'static) -> Stream {
            Stream { writer: Mutex::new(Box::new(writer)), is_terminal: false, has_color: false }
        }
        Self { json, out: stream(out), err: stream(err) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Kept {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_an_end_and_no_panic() {
        let output = Output::into(false, Closed, Closed);
        let error = output.line("one").unwrap_err();
        assert!(matches!(error, CliError::OutputClosed));
        output.error(&error);
        output.note("nobody reads this");
    }

    #[test]
    fn notes_and_errors_stay_out_of_the_data() {
        let (out, err) = (Kept::default(), Kept::default());
        let output = Output::into(false, out.clone(), err.clone());
        output.note("working");
        output.line("data\u{1b}[2J").unwrap();
        output.error(&CliError::usage("wrong", "right"));
        assert_eq!(out.text(), "data␛[2J\n");
        assert_eq!(err.text(), "working\nerror: wrong\n  fix: right\n");
    }

    #[test]
    fn in_json_mode_every_line_is_json() {
        let (out, err) = (Kept::default(), Kept::default());
        let output = Output::into(true, out.clone(), err.clone());
        output.note("working");
        output.record(&json!({ "a": "x\ny" })).unwrap();
        output.error(&CliError::Failed("no".to_owned()));
        assert_eq!(out.text(), "{\"a\":\"x\\ny\"}\n");
        assert_eq!(err.text(), "{\"error\":{\"exit_code\":1,\"message\":\"no\",\"problem\":null}}\n");
    }

    #[test]
    fn pieces_stand_out_without_colors_and_obey_nobody() {
        let out = Kept::default();
        let output = Output::into(false, out.clone(), io::sink());
        let pieces = [
            (Ink::Plain, "Totaal ".to_owned()),
            (Ink::Evidence, "49,99\u{1b}[2J".to_owned()),
            (Ink::Doubt, "Saeco".to_owned()),
        ];
        output.inked(&pieces).unwrap();
        assert_eq!(out.text(), "Totaal [49,99␛[2J][?Saeco?]\n");
    }

    #[test]
    fn a_result_in_a_pipe_keeps_its_bytes() {
        let out = Kept::default();
        let output = Output::into(false, out.clone(), io::sink());
        output.result(&json!("bell\u{7}")).unwrap();
        output.result(&json!({ "total": 1 })).unwrap();
        assert_eq!(out.text(), "bell\u{7}\n{\n  \"total\": 1\n}\n");
    }
}
