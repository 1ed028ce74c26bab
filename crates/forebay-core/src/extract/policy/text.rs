//! How decimals and days are written in definitions.

/// Decimals are written as text, so that no float comes between.
pub(super) mod decimal {
    use rust_decimal::Decimal;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        decimal: &Decimal,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(decimal)
    }
    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Decimal, D::Error> {
        let text = String::deserialize(deserializer)?;
        Decimal::from_str_exact(&text)
            .map_err(|_| serde::de::Error::custom(format!("`{text}` is not a decimal such as \"0.01\"")))
    }
}

pub(super) mod optional_decimal {
    use rust_decimal::Decimal;
    use serde::{Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        decimal: &Option<Decimal>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match decimal {
            Some(decimal) => serializer.collect_str(decimal),
            None => serializer.serialize_none(),
        }
    }
    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Decimal>, D::Error> {
        super::decimal::deserialize(deserializer).map(Some)
    }
}

/// Days are written as `YYYY-MM-DD`.
pub(super) mod optional_date {
    use jiff::civil::Date;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        date: &Option<Date>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match date {
            Some(date) => serializer.collect_str(date),
            None => serializer.serialize_none(),
        }
    }
    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Date>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let date = crate::extract::dates::iso(&text);
        date.map(Some)
            .ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a day such as \"2024-02-29\"")))
    }
}
