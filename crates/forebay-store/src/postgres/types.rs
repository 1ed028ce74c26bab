//! Values of the ledger as the wire has them, whatever exact type a column has.

use std::error::Error;

use bytes::{BufMut as _, BytesMut};
use tokio_postgres::types::{FromSql, IsNull, Kind, ToSql, Type, to_sql_checked};

use crate::ledger::values::Value;

type Fault = Box<dyn Error + Sync + Send>;

/// A value that waits to be written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Owned {
    Null,
    Int(i64),
    Flag(bool),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<Value<'_>> for Owned {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Null => Owned::Null,
            Value::Int(number) => Owned::Int(number),
            Value::Flag(flag) => Owned::Flag(flag),
            Value::Text(text) => Owned::Text(text.to_owned()),
            Value::Bytes(bytes) => Owned::Bytes(bytes.to_owned()),
        }
    }
}

impl Owned {
    /// Puts the value down as the type that the server expects; `false` where it is null.
    fn put(&self, ty: &Type, out: &mut BytesMut) -> Result<bool, Fault> {
        match (self, ty) {
            (Owned::Null, _) => return Ok(false),
            (Owned::Int(number), &Type::INT8) => out.put_i64(*number),
            (Owned::Int(number), &Type::INT4) => out.put_i32(i32::try_from(*number)?),
            (Owned::Int(number), &Type::INT2) => out.put_i16(i16::try_from(*number)?),
            (Owned::Flag(flag), &Type::BOOL) => out.put_u8(u8::from(*flag)),
            (Owned::Text(text), &Type::TEXT | &Type::VARCHAR) => out.put_slice(text.as_bytes()),
            (Owned::Bytes(bytes), &Type::BYTEA) => out.put_slice(bytes),
            (Owned::Bytes(bytes), &Type::UUID) if bytes.len() == 16 => out.put_slice(bytes),
            _ => return Err(format!("{self:?} is no {ty}").into()),
        }
        Ok(true)
    }
}

impl ToSql for Owned {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Fault> {
        Ok(if self.put(ty, out)? { IsNull::No } else { IsNull::Yes })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// One parameter of many rows, as an array.
#[derive(Debug)]
pub(super) struct Column<'r> {
    pub(super) rows: &'r [Vec<Owned>],
    pub(super) index: usize,
}

impl ToSql for Column<'_> {
    /// An array as the protocol has it: dimensions, whether there are nulls, the element's type, length, lower bound,
    /// and then each element with its length before it.
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Fault> {
        let Kind::Array(element) = ty.kind() else {
            return Err(format!("{ty} is no array").into());
        };
        out.put_i32(1);
        out.put_i32(1);
        out.put_u32(element.oid());
        out.put_i32(i32::try_from(self.rows.len())?);
        out.put_i32(1);
        for row in self.rows {
            let at = out.len();
            out.put_i32(-1);
            if row[self.index].put(element, out)? {
                let length = i32::try_from(out.len() - at - 4)?;
                out[at..at + 4].copy_from_slice(&length.to_be_bytes());
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// An integer of any width.
pub struct Int(i64);

impl From<Int> for i64 {
    fn from(number: Int) -> Self {
        number.0
    }
}

impl<'a> FromSql<'a> for Int {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Fault> {
        Ok(Int(match *ty {
            Type::INT2 => i16::from_sql(ty, raw)?.into(),
            Type::INT4 => i32::from_sql(ty, raw)?.into(),
            _ => i64::from_sql(ty, raw)?,
        }))
    }

    fn accepts(ty: &Type) -> bool {
        matches!(*ty, Type::INT2 | Type::INT4 | Type::INT8)
    }
}

/// Bytes of a fixed number: ids and digests.
pub struct Fixed<const N: usize>([u8; N]);

impl<const N: usize> From<Fixed<N>> for [u8; N] {
    fn from(bytes: Fixed<N>) -> Self {
        bytes.0
    }
}

impl<'a, const N: usize> FromSql<'a> for Fixed<N> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Fault> {
        Ok(Fixed(raw.try_into()?))
    }

    fn accepts(ty: &Type) -> bool {
        matches!(*ty, Type::UUID | Type::BYTEA)
    }
}
