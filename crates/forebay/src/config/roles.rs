//! What a process does.

/// The roles of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roles {
    /// Answers HTTP.
    pub api: bool,
    /// Claims and runs steps.
    pub work: bool,
    /// Ends what is past its deadline, takes back lapsed leases, removes what is kept no longer.
    pub maintain: bool,
}

/// The roles that this build has.
const KNOWN: &str = "api, work, maintain, or all";

impl Roles {
    /// Everything.
    pub const ALL: Roles = Roles { api: true, work: true, maintain: true };

    const NONE: Roles = Roles { api: false, work: false, maintain: false };

    /// Reads a list of names.
    ///
    /// # Errors
    ///
    /// What is wrong with which name.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut roles = Self::NONE;
        for name in names {
            match name.trim() {
                "all" => roles = Self::ALL,
                "api" => roles.api = true,
                "work" => roles.work = true,
                "maintain" => roles.maintain = true,
                later @ ("intake" | "relay" | "deliver") => {
                    return Err(format!(
                        "the role `{later}` belongs to brokers and webhooks, which this build does not have"
                    ));
                }
                "" => return Err("a role without a name".to_owned()),
                other => return Err(format!("there is no role `{other}`")),
            }
        }
        if roles == Self::NONE { Err("a process without any role".to_owned()) } else { Ok(roles) }
    }

    /// Their names.
    pub fn names(self) -> Vec<&'static str> {
        let roles = [(self.api, "api"), (self.work, "work"), (self.maintain, "maintain")];
        roles.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect()
    }

    /// What can be written.
    pub(super) fn fix() -> String {
        format!("choose among {KNOWN}, with commas between them")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_a_list_of_known_names() {
        assert_eq!(Roles::parse(["all"]), Ok(Roles::ALL));
        assert_eq!(Roles::parse(["api", " work"]), Ok(Roles { api: true, work: true, maintain: false }));
        assert_eq!(Roles::parse([]), Err("a process without any role".to_owned()));
        assert_eq!(Roles::parse(["api", "wrok"]), Err("there is no role `wrok`".to_owned()));
    }

    #[test]
    fn roles_of_later_builds_are_refused_by_their_name() {
        for name in ["intake", "relay", "deliver"] {
            assert!(Roles::parse([name]).unwrap_err().contains(name));
        }
    }
}
