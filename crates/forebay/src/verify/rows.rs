//! Rows as a database gives them, whichever it is.

use super::records::Id;

/// What stands in one column of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
    /// What no column of a store is.
    Other,
}

/// The columns of a row, one after the other.
pub(super) struct Columns {
    values: std::vec::IntoIter<Value>,
    at: usize,
}

/// A column that is missing, or not of the kind that it has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("column {0} is not of the kind that it should be")]
pub(super) struct Mismatch(usize);

impl Columns {
    pub(super) fn of(values: Vec<Value>) -> Self {
        Self { values: values.into_iter(), at: 0 }
    }

    /// The next column.
    pub(super) fn next<T: Cell>(&mut self) -> Result<T, Mismatch> {
        self.at += 1;
        self.values.next().and_then(T::of).ok_or(Mismatch(self.at))
    }
}

/// What a column may be read as.
pub(super) trait Cell: Sized {
    /// Absent when the value is of another kind.
    fn of(value: Value) -> Option<Self>;
}

impl Cell for i64 {
    fn of(value: Value) -> Option<Self> {
        if let Value::Integer(number) = value { Some(number) } else { None }
    }
}

impl Cell for bool {
    fn of(value: Value) -> Option<Self> {
        i64::of(value).map(|number| number != 0)
    }
}

impl Cell for String {
    fn of(value: Value) -> Option<Self> {
        if let Value::Text(text) = value { Some(text) } else { None }
    }
}

impl Cell for Vec<u8> {
    fn of(value: Value) -> Option<Self> {
        if let Value::Bytes(bytes) = value { Some(bytes) } else { None }
    }
}

impl Cell for Id {
    fn of(value: Value) -> Option<Self> {
        Vec::of(value)?.try_into().ok().map(Id)
    }
}

impl<T: Cell> Cell for Option<T> {
    fn of(value: Value) -> Option<Self> {
        if value == Value::Null { Some(None) } else { T::of(value).map(Some) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_of_their_kinds_or_named() {
        let mut columns = Columns::of(vec![
            Value::Integer(1),
            Value::Null,
            Value::Bytes(vec![7; 16]),
            Value::Text("a".to_owned()),
            Value::Null,
            Value::Bytes(vec![7; 15]),
        ]);
        assert_eq!(columns.next(), Ok(true));
        assert_eq!(columns.next(), Ok(None::<i64>));
        assert_eq!(columns.next(), Ok(Id([7; 16])));
        assert_eq!(columns.next(), Ok(Some("a".to_owned())));
        assert_eq!(columns.next::<i64>(), Err(Mismatch(5)));
        assert_eq!(columns.next::<Id>(), Err(Mismatch(6)));
        assert_eq!(columns.next::<bool>(), Err(Mismatch(7)));
    }
}
