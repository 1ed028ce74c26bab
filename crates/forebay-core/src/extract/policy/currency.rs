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
    /// Codes that are accepted, as ISO 4217 writes them: `EUR`.
    pub allowed: Vec<String>,
    /// How documents write a code otherwise: `USD = ["$", "US Dollars"]`. Case does not matter.
    #[serde(default)]
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
        refuse_if(self.allowed.is_empty(), "currency.allowed", "name at least one currency code")?;
        let is_code = |code: &&String| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase());
        if let Some(code) = self.allowed.iter().find(|code| is_code(code) && iso4217::find(code).is_none()) {
            refuse_if(true, "currency.allowed", format!("`{code}` is not a currency of ISO 4217"))?;
        }
        if let Some(code) = self.allowed.iter().find(|code| !is_code(code)) {
            refuse_if(true, "currency.allowed", format!("`{code}` is not a code of three capital letters"))?;
        }
        let mut meaning: BTreeMap<String, &String> = BTreeMap::new();
        for (code, alias) in
            self.aliases.iter().flat_map(|(code, forms)| forms.iter().map(move |form| (code, form)))
        {
            let (member, form) = (format!("currency.aliases.{code}"), fold(alias).to_lowercase());
            refuse_if(form.is_empty(), &member, "a written form can't be blank")?;
            let other_code = self.allowed.iter().any(|other| other != code && other.to_lowercase() == form);
            refuse_if(other_code, &member, format!("`{alias}` is another currency's code"))?;
            let other = meaning.insert(form, code).filter(|other| *other != code);
            refuse_if(
                other.is_some(),
                &member,
                format!("`{alias}` also stands for another currency, so it says neither"),
            )?;
        }
        let stranger = self.aliases.keys().find(|code| !self.allowed.contains(code));
        refuse_if(
            stranger.is_some(),
            "currency.aliases",
            stranger.map_or_else(String::new, |code| format!("`{code}` is not in `allowed`")),
        )
    }
}
