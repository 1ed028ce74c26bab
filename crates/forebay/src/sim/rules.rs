//! A scenario at work: which rule applies to a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::RngExt;
use rand::rngs::StdRng;

use super::clock::Micros;
use super::scenario::{Match, Rule, Scenario};

const MINUTE: f64 = 60_000_000.0;

/// The scenario that is in force, with the counts of its rules.
pub(super) struct Active {
    pub(super) scenario: Scenario,
    /// How long a minute lasts.
    pub(super) minute: Micros,
    rules: Vec<LiveRule>,
}

struct LiveRule {
    rule: Arc<Rule>,
    label: Arc<str>,
    /// Calls that fulfilled everything but `nth` and `every`.
    seen: AtomicU64,
    /// Calls that the rule was applied to.
    applied: AtomicU64,
}

/// The rule that applies to a call.
#[derive(Clone)]
pub(super) struct Applied {
    pub(super) rule: Arc<Rule>,
    pub(super) label: Arc<str>,
}

/// What rules look at.
pub(super) struct Traits<'a> {
    pub(super) path: &'a str,
    pub(super) model: Option<&'a str>,
    pub(super) key_sha8: Option<&'a str>,
    pub(super) attempt: Option<&'a str>,
    pub(super) idempotency_key: Option<&'a str>,
    pub(super) stream: bool,
    pub(super) texts: &'a [String],
}

impl Active {
    pub(super) fn new(scenario: Scenario) -> Self {
        let rules = scenario.rules.iter().enumerate().map(|(index, rule)| LiveRule {
            label: rule.label(index).into(),
            rule: Arc::new(rule.clone()),
            seen: AtomicU64::new(0),
            applied: AtomicU64::new(0),
        });
        // A whole number of at least 1: an empty minute would let everything pass.
        let minute = (MINUTE / scenario.time_scale).max(1.0) as Micros;
        Self { rules: rules.collect(), minute, scenario }
    }

    /// The first rule that applies. Every rule counts every call that it matches, also those that an earlier
    /// rule took.
    pub(super) fn choose(&self, call: &Traits<'_>, rng: &mut StdRng) -> Option<Applied> {
        let mut chosen = None;
        for live in &self.rules {
            let is_due = live.is_due(call);
            if is_due && chosen.is_none() && live.takes(rng) {
                chosen = Some(Applied { rule: Arc::clone(&live.rule), label: Arc::clone(&live.label) });
            }
        }
        chosen
    }
}

impl LiveRule {
    fn is_due(&self, call: &Traits<'_>) -> bool {
        let wanted = &self.rule.r#match;
        if !wanted.fits(call) {
            return false;
        }
        let number = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
        wanted.nth.is_none_or(|nth| number == nth)
            && wanted.every.is_none_or(|every| number.is_multiple_of(every))
    }

    fn takes(&self, rng: &mut StdRng) -> bool {
        if self.rule.probability.is_some_and(|share| rng.random::<f64>() >= share) {
            return false;
        }
        let times = self.rule.times.unwrap_or(u64::MAX);
        let once_more = |applied: u64| (applied < times).then_some(applied + 1);
        self.applied.fetch_update(Ordering::Relaxed, Ordering::Relaxed, once_more).is_ok()
    }
}

impl Match {
    fn fits(&self, call: &Traits<'_>) -> bool {
        equal(&self.path, Some(call.path))
            && equal(&self.key_sha8, call.key_sha8)
            && equal(&self.attempt, call.attempt)
            && equal(&self.idempotency_key, call.idempotency_key)
            && self.stream.is_none_or(|stream| stream == call.stream)
            && self.model.as_deref().is_none_or(|pattern| model_fits(pattern, call.model))
            && self
                .contains
                .as_deref()
                .is_none_or(|wanted| call.texts.iter().any(|text| text.contains(wanted)))
    }
}

fn equal(wanted: &Option<String>, found: Option<&str>) -> bool {
    wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
}

fn model_fits(pattern: &str, model: Option<&str>) -> bool {
    model.is_some_and(|model| match pattern.strip_suffix('*') {
        Some(start) => model.starts_with(start),
        None => model == pattern,
    })
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn chosen(active: &Active, model: &str, texts: &[&str]) -> Option<String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let call = Traits {
            path: "/v1/chat/completions",
            model: Some(model),
            key_sha8: Some("0a0b0c0d"),
            attempt: Some("att_1"),
            idempotency_key: None,
            stream: false,
            texts: &texts,
        };
        let applied = active.choose(&call, &mut StdRng::seed_from_u64(1));
        applied.map(|applied| applied.label.to_string())
    }

    fn active(rules: &str) -> Active {
        Active::new(Scenario::from_toml(rules).unwrap())
    }

    #[test]
    fn nth_counts_the_calls_that_match_whoever_took_them() {
        let active = active(
            "[[rules]]\nmatch = { model = \"a\", nth = 1 }\n[[rules]]\nmatch = { model = \"a\", nth = 2 }\n\
             [[rules]]\nmatch = { every = 3 }",
        );
        let labels: Vec<_> = ["b", "a", "a", "a", "a", "a"].map(|model| chosen(&active, model, &[])).into();
        let rule = |number| Some(format!("rule {number}"));
        assert_eq!(labels, [None, rule(1), rule(2), None, None, rule(3)]);
    }

    #[test]
    fn times_ends_a_rule_and_the_next_takes_over() {
        let active = active("[[rules]]\nname = \"twice\"\ntimes = 2\n[[rules]]\nname = \"then\"");
        let labels: Vec<_> = (0..3).filter_map(|_| chosen(&active, "a", &[])).collect();
        assert_eq!(labels, ["twice", "twice", "then"]);
    }

    #[test]
    fn every_member_of_a_match_must_fit() {
        for (wanted, fits) in [
            ("model = \"gpt-*\"", true),
            ("model = \"gpt\"", false),
            ("contains = \"4711\"", true),
            ("contains = \"4712\"", false),
            ("path = \"/v1/embeddings\"", false),
            ("attempt = \"att_1\"", true),
            ("attempt = \"att_2\"", false),
            ("idempotency_key = \"k\"", false),
            ("key_sha8 = \"0a0b0c0d\"", true),
            ("stream = true", false),
            ("stream = false, model = \"gpt-*\", contains = \"invoice\"", true),
        ] {
            let active = active(&format!("[[rules]]\nmatch = {{ {wanted} }}"));
            assert_eq!(chosen(&active, "gpt-4", &["hello", "invoice 4711"]).is_some(), fits, "{wanted}");
        }
    }

    #[test]
    fn probability_takes_its_share() {
        let active = active("[[rules]]\nprobability = 0.25");
        let (texts, mut rng) = (Vec::new(), StdRng::seed_from_u64(9));
        let call = Traits {
            path: "/",
            model: None,
            key_sha8: None,
            attempt: None,
            idempotency_key: None,
            stream: false,
            texts: &texts,
        };
        let taken = (0..4_000).filter(|_| active.choose(&call, &mut rng).is_some()).count();
        assert!((900..1_100).contains(&taken), "{taken}");
    }
}
