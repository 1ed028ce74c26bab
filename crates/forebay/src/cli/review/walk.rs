//! Walking through the queue: one review after the other is held, shown and asked about.
//!
//! Answers are lines, so that it works in any terminal and from a pipe. What is held is given back when it is not
//! decided, also when a signal comes.

use std::io::BufRead as _;
use std::time::Duration;

use forebay_core::review::changes;
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::correction::Draft;
use super::list::{Filter, Pages};
use super::{claim, decided, decision, fetch, release, send, show, version};
use crate::cli::client::Client;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::signals::Signals;
use crate::cli::table::{Show, cell};
use crate::cli::values::Assignment;

/// How often a claim, which is for 15 minutes, is made anew while a person thinks.
const RENEW: Duration = Duration::from_secs(5 * 60);
/// Reviews that are read at once.
const PAGE: usize = 20;

const QUESTION: &str =
    "\n[a]pprove  [c]orrect  [r]eject  re[d]o  [s]kip  [t]ext  [q]uit  [?]help, or /pointer=value > ";
const HELP: &str = "
  a [COMMENT]      the output is right
  /pointer=value   changes a value, as in /total=49.99; several, one after the other
  c [COMMENT]      takes the changed output; without any change it opens your editor (VISUAL or EDITOR)
  e                opens your editor on the output with the changes so far
  u                takes all changes back
  r COMMENT        refuses the output: the job fails
  d [COMMENT]      has the machines do it again
  s                leaves it for later    t   shows all of the text    q   ends";

/// Walks until the queue or the patience ends.
pub(super) async fn walk(client: Client, filter: Filter, output: &Output) -> Result<Exit, CliError> {
    let mut walk = Walk { client: &client, output, signals: Signals::listen()?, decided: 0, skipped: 0 };
    let mut pages = Pages::new(&client, &filter, PAGE);
    'queue: while let Some(page) = pages.next().await? {
        for entry in page {
            let job = cell(entry.get("job_id"), Show::Plain);
            if !walk.visit(&job).await? {
                break 'queue;
            }
        }
    }
    match (walk.decided, walk.skipped) {
        (0, 0) => output.note("there is nothing to decide"),
        (decided, skipped) => output.note(&format!("{decided} decided, {skipped} left")),
    }
    Ok(Exit::Done)
}

struct Walk<'w> {
    client: &'w Client,
    output: &'w Output,
    signals: Signals,
    decided: usize,
    skipped: usize,
}

/// What an answer asks for.
#[derive(Debug, PartialEq)]
enum Answer {
    Approve(Option<String>),
    Correct(Option<String>),
    Edit,
    Undo,
    Set(String),
    Reject(Option<String>),
    Rerun(Option<String>),
    Skip,
    Text,
    Quit,
    Help,
}

fn answer(line: &str) -> Answer {
    let line = line.trim();
    if line.starts_with('/') {
        return Answer::Set(line.to_owned());
    }
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let comment = Some(rest.trim()).filter(|rest| !rest.is_empty()).map(str::to_owned);
    match word.to_ascii_lowercase().as_str() {
        "a" | "approve" => Answer::Approve(comment),
        "c" | "correct" => Answer::Correct(comment),
        "e" | "edit" => Answer::Edit,
        "u" | "undo" => Answer::Undo,
        "r" | "reject" => Answer::Reject(comment),
        "d" | "redo" | "rerun" => Answer::Rerun(comment),
        "s" | "skip" => Answer::Skip,
        "t" | "text" => Answer::Text,
        "q" | "quit" | "exit" => Answer::Quit,
        _ => Answer::Help,
    }
}

/// What becomes of the walk after an answer.
enum Then {
    /// The same review again.
    Stay,
    /// The next one.
    Next,
    /// The end.
    End,
}

impl Walk<'_> {
    /// Holds a review and asks about it until it is decided or left; `false` ends the walk.
    async fn visit(&mut self, job: &str) -> Result<bool, CliError> {
        // Somebody may have been faster since the page was read.
        if !self.went_well(claim(self.client, job, None).await)? {
            return Ok(true);
        }
        let ended = self.ask_about(job).await;
        match ended {
            Ok(Then::Stay | Then::Next) => Ok(true),
            Ok(Then::End) => Ok(false),
            Err(error) => {
                // The claim lapses by itself where it can't be given back.
                drop(release(self.client, job).await);
                Err(error)
            }
        }
    }

    async fn ask_about(&mut self, job: &str) -> Result<Then, CliError> {
        let review = fetch(self.client, job).await?;
        self.output.line(&"-".repeat(78))?;
        show::lines(&review, false).iter().try_for_each(|line| self.output.inked(line))?;
        let mut draft = review.get("output").cloned().unwrap_or_default();
        loop {
            let Some(line) = self.line(job, QUESTION).await? else {
                release(self.client, job).await?;
                self.skipped += 1;
                return Ok(Then::End);
            };
            match self.act(job, &review, &mut draft, answer(&line)).await? {
                Then::Stay => {}
                then => return Ok(then),
            }
        }
    }

    async fn act(
        &mut self,
        job: &str,
        review: &Value,
        draft: &mut Value,
        answer: Answer,
    ) -> Result<Then, CliError> {
        let original = review.get("output").cloned().unwrap_or_default();
        match answer {
            Answer::Approve(comment) => {
                if *draft != original {
                    self.output
                        .note("the output was changed: `c` takes it as it is now, `a` what the model said");
                    let Some(line) = self.line(job, "approve what the model said? [y/N] > ").await? else {
                        return Ok(Then::Stay);
                    };
                    if !line.trim().eq_ignore_ascii_case("y") {
                        return Ok(Then::Stay);
                    }
                }
                self.decide(job, &decision("approve", version(review), None, comment.as_deref())).await
            }
            Answer::Correct(comment) => {
                if *draft == original {
                    self.edit(job, draft).await?;
                }
                if *draft == original {
                    self.output.note("nothing was changed; `a` approves it");
                    return Ok(Then::Stay);
                }
                self.show_changes(&original, draft)?;
                self.decide(job, &decision("correct", version(review), Some(draft), comment.as_deref())).await
            }
            Answer::Edit => {
                self.edit(job, draft).await?;
                self.show_changes(&original, draft)?;
                Ok(Then::Stay)
            }
            Answer::Undo => {
                *draft = original;
                self.output.note("the output is what the model said again");
                Ok(Then::Stay)
            }
            Answer::Set(text) => {
                match text.parse::<Assignment>().and_then(|assignment| assignment.correct(draft)) {
                    Ok(()) => self.show_changes(&original, draft)?,
                    Err(why) => self.output.note(&why),
                }
                Ok(Then::Stay)
            }
            Answer::Reject(comment) => {
                let comment = match comment {
                    Some(comment) => Some(comment),
                    None => self.line(job, "why > ").await?.filter(|line| !line.trim().is_empty()),
                };
                let Some(comment) = comment else {
                    self.output.note("a rejection says why; nothing was decided");
                    return Ok(Then::Stay);
                };
                self.decide(job, &decision("reject", version(review), None, Some(comment.trim()))).await
            }
            Answer::Rerun(comment) => {
                self.decide(job, &decision("rerun", version(review), None, comment.as_deref())).await
            }
            Answer::Skip => self.leave(job, Then::Next).await,
            Answer::Quit => self.leave(job, Then::End).await,
            Answer::Text => {
                show::lines(review, true).iter().try_for_each(|line| self.output.inked(line))?;
                Ok(Then::Stay)
            }
            Answer::Help => {
                self.output.note(HELP);
                Ok(Then::Stay)
            }
        }
    }

    async fn decide(&mut self, job: &str, body: &Value) -> Result<Then, CliError> {
        match send(self.client, job, body).await {
            Ok(answer) => {
                decided(&answer, self.output)?;
                self.decided += 1;
                Ok(Then::Next)
            }
            // What is wrong with the output can be mended; what somebody else has decided can't.
            Err(error @ CliError::Problem(_))
                if error.problem().is_some_and(|problem| problem.status < 500) =>
            {
                self.output.error(&error);
                let now = fetch(self.client, job).await?;
                let is_open = now.get("decided").is_none() && now["state_version"] == body["state_version"];
                if is_open {
                    return Ok(Then::Stay);
                }
                self.skipped += 1;
                Ok(Then::Next)
            }
            Err(error) => Err(error),
        }
    }

    async fn leave(&mut self, job: &str, then: Then) -> Result<Then, CliError> {
        let given_back = release(self.client, job).await;
        self.went_well(given_back)?;
        self.skipped += 1;
        Ok(then)
    }

    /// Whether something that was asked for was done. What was refused is said, and the walk goes on.
    fn went_well(&self, answer: Result<Value, CliError>) -> Result<bool, CliError> {
        match answer {
            Ok(_) => Ok(true),
            Err(error) if error.problem().is_some_and(|problem| problem.is("conflict")) => {
                self.output.note(&format!("passed over: {error}"));
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn show_changes(&self, original: &Value, draft: &Value) -> Result<(), CliError> {
        for change in changes(Some(original), draft) {
            let change = serde_json::to_value(change).unwrap_or_default();
            self.output.line(&format!("  {}", show::changed(&change)))?;
        }
        Ok(())
    }

    /// Opens the editor until what it leaves is JSON, or the person gives up.
    async fn edit(&mut self, job: &str, draft: &mut Value) -> Result<(), CliError> {
        let file = Draft::of(draft)?;
        loop {
            if let Err(error) = self.holding(job, false, file.edit()).await? {
                self.output.error(&error);
                return Ok(());
            }
            let why = match file.read() {
                Ok(edited) => {
                    *draft = edited;
                    return Ok(());
                }
                Err(why) => why,
            };
            self.output.note(&why);
            let again = self.line(job, "edit it again? [Y/n] > ").await?;
            if again.is_none_or(|line| line.trim().eq_ignore_ascii_case("n")) {
                return Ok(());
            }
        }
    }

    /// The next line that is typed; nothing at the end of the input.
    async fn line(&mut self, job: &str, question: &str) -> Result<Option<String>, CliError> {
        self.output.ask(question);
        // Not on a worker of the runtime: a signal must be able to end the walk while nobody types.
        let read = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line).map(|read| (read > 0).then_some(line))
        });
        let read = self.holding(job, true, read).await?;
        let failed = |error: std::io::Error| CliError::failed("standard input can't be read", &error);
        read.map_err(std::io::Error::other).and_then(|read| read).map_err(failed)
    }

    /// Waits for something and holds the review meanwhile. A signal ends the walk, but for those that an editor
    /// hears too.
    async fn holding<T>(
        &mut self,
        job: &str,
        ends: bool,
        work: impl Future<Output = T>,
    ) -> Result<T, CliError> {
        let mut renew = interval_at(Instant::now() + RENEW, RENEW);
        renew.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                _ = renew.tick() => {
                    if let Err(error) = claim(self.client, job, None).await {
                        tracing::warn!(%error, "the review is not held any longer");
                    }
                }
                () = self.signals.next() => if ends {
                    return Err(CliError::Interrupted);
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_letters_words_or_values() {
        let said = |text: &str| Some(text.to_owned());
        for (line, expected) in [
            ("a", Answer::Approve(None)),
            ("approve the logo says so\n", Answer::Approve(said("the logo says so"))),
            ("C", Answer::Correct(None)),
            ("r  not ours ", Answer::Reject(said("not ours"))),
            ("rerun", Answer::Rerun(None)),
            ("/supplier=Saeco Nederland B.V.", Answer::Set("/supplier=Saeco Nederland B.V.".to_owned())),
            ("q", Answer::Quit),
            ("", Answer::Help),
            ("yes", Answer::Help),
        ] {
            assert_eq!(answer(line), expected, "{line}");
        }
    }
}
