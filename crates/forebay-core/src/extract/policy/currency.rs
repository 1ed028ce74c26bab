//! Which currency the amounts are in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{PolicyError, is_default, refuse_if};
use crate::extract::iso4217;
use crate::extract::pointer::Pointer;
use crate::extract::resolve::fold;

/// The currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurrencyRule {
    /// Where its code stands.
    pub field: Pointer,
    /// Codes that are accepted, as ISO 4217 writes them: `EUR`. Default: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<String>>,
    /// How documents write a code beside its usual signs, and which currency a sign means that several share, where
    /// the document does not say: `USD = ["$"]`. Case does not matter.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub aliases: BTreeMap<String, Vec<String>>,
    /// Whether amounts may have no more decimals than the currency has: 2 for EUR, none for JPY, 3 for KWD.
    /// Default: not looked at.
    #[serde(default, skip_serializing_if = "is_default")]
    pub decimals: bool,
    /// Whether the sign or code that the document prints next to the total may not be another currency's. Default:
    /// not looked at.
    #[serde(default, skip_serializing_if = "is_default")]
    pub beside_total: bool,
}

impl CurrencyRule {
    pub(super) fn validate(&self) -> Result<(), PolicyError> {
        let is_code = |code: &&String| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase());
        let allowed = self.allowed.as_deref();
        let none = allowed.is_some_and(<[String]>::is_empty);
        refuse_if(none, "currency.allowed", "name at least one currency code, or leave it out to allow all")?;
        for (member, code) in allowed
            .into_iter()
            .flatten()
            .map(|code| ("currency.allowed", code))
            .chain(self.aliases.keys().map(|code| ("currency.aliases", code)))
        {
            let no_code = !is_code(&code);
            refuse_if(no_code, member, format!("`{code}` is not a code of three capital letters"))?;
            let unknown = iso4217::find(code).is_none();
            refuse_if(unknown, member, format!("`{code}` is not a currency of ISO 4217"))?;
        }
        let mut meaning: BTreeMap<String, &String> = BTreeMap::new();
        for (code, alias) in
            self.aliases.iter().flat_map(|(code, forms)| forms.iter().map(move |form| (code, form)))
        {
            let (member, form) = (format!("currency.aliases.{code}"), fold(alias).to_lowercase());
            refuse_if(form.is_empty(), &member, "a written form can't be blank")?;
            let other_code = form.to_uppercase() != *code && iso4217::find(&form.to_uppercase()).is_some();
            refuse_if(other_code, &member, format!("`{alias}` is another currency's code"))?;
            let other = meaning.insert(form, code).filter(|other| *other != code);
            refuse_if(
                other.is_some(),
                &member,
                format!("`{alias}` also stands for another currency, so it says neither"),
            )?;
        }
        let is_allowed = |code: &String| allowed.is_none_or(|allowed| allowed.contains(code));
        let stranger = self.aliases.keys().find(|code| !is_allowed(code));
        refuse_if(
            stranger.is_some(),
            "currency.aliases",
            stranger.map_or_else(String::new, |code| format!("`{code}` is not in `allowed`")),
        )
    }
}
