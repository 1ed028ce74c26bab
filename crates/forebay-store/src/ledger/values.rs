//! What goes into a statement: values that both databases take, by position or by name.

/// A value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'v> {
    Null,
    Int(i64),
    Flag(bool),
    Text(&'v str),
    Bytes(&'v [u8]),
}

/// What can be a parameter.
pub trait Param {
    fn value(&self) -> Value<'_>;
}

macro_rules! ints {
    ($($int:ty),*) => {
        $(impl Param for $int {
            fn value(&self) -> Value<'_> {
                Value::Int(i64::from(*self))
            }
        })*
    };
}
ints!(i64, i32, u32, u16);

impl Param for bool {
    fn value(&self) -> Value<'_> {
        Value::Flag(*self)
    }
}

impl Param for str {
    fn value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl Param for String {
    fn value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl Param for [u8] {
    fn value(&self) -> Value<'_> {
        Value::Bytes(self)
    }
}

impl Param for Vec<u8> {
    fn value(&self) -> Value<'_> {
        Value::Bytes(self)
    }
}

impl<const N: usize> Param for [u8; N] {
    fn value(&self) -> Value<'_> {
        Value::Bytes(self)
    }
}

impl<T: Param + ?Sized> Param for &T {
    fn value(&self) -> Value<'_> {
        (**self).value()
    }
}

impl<T: Param> Param for Option<T> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, Param::value)
    }
}

/// The parameters of a statement: a tuple by position, or what [`params!`] makes by name.
pub trait Params {
    /// Shows each with its name, which is empty where the position says which it is.
    fn each(&self, show: &mut dyn FnMut(&'static str, Value<'_>));
}

impl Params for () {
    fn each(&self, _: &mut dyn FnMut(&'static str, Value<'_>)) {}
}

impl<T: Param, const N: usize> Params for [T; N] {
    fn each(&self, show: &mut dyn FnMut(&'static str, Value<'_>)) {
        self.iter().for_each(|param| show("", param.value()));
    }
}

impl Params for &[Named<'_>] {
    fn each(&self, show: &mut dyn FnMut(&'static str, Value<'_>)) {
        self.iter().for_each(|(name, value)| show(name, *value));
    }
}

impl<const N: usize> Params for &[Named<'_>; N] {
    fn each(&self, show: &mut dyn FnMut(&'static str, Value<'_>)) {
        self.as_slice().each(show);
    }
}

macro_rules! tuples {
    ($($($param:ident)+;)*) => {
        $(impl<$($param: Param),+> Params for ($($param,)+) {
            #[allow(non_snake_case, reason = "each value is called as its type")]
            fn each(&self, show: &mut dyn FnMut(&'static str, Value<'_>)) {
                let ($($param,)+) = self;
                $(show("", $param.value());)+
            }
        })*
    };
}
tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}

/// A parameter with its name, the colon included.
pub type Named<'v> = (&'static str, Value<'v>);

/// Parameters by name, in the order in which the statement names them first.
macro_rules! params {
    ($($name:literal: $value:expr),* $(,)?) => {
        &[$(($name, $crate::ledger::values::Param::value(&$value))),*]
    };
}
pub(crate) use params;
