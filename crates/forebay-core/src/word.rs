//! Words of lists that a newer build may have more of.

/// A word as it was found: one that this build knows, or another, which is passed on as it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Word<T> {
    /// What it means.
    Known(T),
    /// A word of a newer build.
    Unknown(String),
}

impl<T> Word<T> {
    /// Reads a word.
    pub fn read(word: String, from_name: fn(&str) -> Option<T>) -> Self {
        from_name(&word).map_or(Self::Unknown(word), Self::Known)
    }

    /// What it means, where this build knows that.
    pub const fn known(&self) -> Option<&T> {
        match self {
            Self::Known(meaning) => Some(meaning),
            Self::Unknown(_) => None,
        }
    }
}

impl<T: PartialEq> PartialEq<T> for Word<T> {
    fn eq(&self, other: &T) -> bool {
        self.known() == Some(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventType;

    #[test]
    fn an_unknown_word_stays_what_it_is() {
        let known = Word::read("claimed".to_owned(), EventType::from_name);
        assert_eq!((known.known(), known == EventType::Claimed), (Some(&EventType::Claimed), true));
        let unknown = Word::read("dreamt".to_owned(), EventType::from_name);
        assert_eq!((unknown.known(), &unknown), (None, &Word::Unknown("dreamt".to_owned())));
    }
}
