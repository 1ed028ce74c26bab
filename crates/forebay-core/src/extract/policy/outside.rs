//! What a document is held against that is not in it: master data, and documents that came before.

use serde::{Deserialize, Serialize};

use super::{Named, PolicyError, Role, refuse_if};
use crate::dataset::{Likeness, is_name};
use crate::extract::pointer::Pointer;

/// What makes two documents the same. Text is compared without case, accents and punctuation, amounts as numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DuplicatesRule {
    /// The fields that are the same: supplier, number and total. Where one of them is null, nothing is compared.
    pub fields: Vec<Pointer>,
}

/// A record of a dataset that the output must lead to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MasterDataRule {
    /// The dataset's name.
    pub dataset: String,
    /// What a record is found by. A record is meant when one of these is the same in both, and none of them
    /// contradicts: what is null in the output or blank in the record says nothing.
    pub r#match: Vec<Column>,
    /// What must then be as the record says. What is null in the output is not compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub equal: Vec<Column>,
}

/// A field of the output, and the column that it is compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// The field.
    pub field: Pointer,
    /// The column of the dataset.
    pub column: String,
    /// When the two are the same. Default: as words.
    #[serde(default, rename = "as")]
    pub likeness: Likeness,
}

impl DuplicatesRule {
    pub(super) fn fields(&self) -> impl Iterator<Item = Named> {
        self.fields.iter().map(|field| Named::new("duplicates.fields", field.clone(), Role::Text))
    }

    pub(super) fn validate(&self) -> Result<(), PolicyError> {
        refuse_if(self.fields.is_empty(), "duplicates.fields", "name at least one field")?;
        let pattern = self.fields.iter().find(|field| field.is_pattern());
        let message = pattern.map(|field| format!("{field} must name one field, without `*`"));
        refuse_if(pattern.is_some(), "duplicates.fields", message.unwrap_or_default())
    }
}

impl MasterDataRule {
    fn columns(&self) -> impl Iterator<Item = (&'static str, &Column)> {
        let found_by = self.r#match.iter().map(|column| ("master_data.match", column));
        found_by.chain(self.equal.iter().map(|column| ("master_data.equal", column)))
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = Named> {
        self.columns().map(|(member, column)| Named::new(member, column.field.clone(), Role::Text))
    }

    pub(super) fn validate(&self) -> Result<(), PolicyError> {
        let message = format!("`{}` is not a dataset's name", self.dataset);
        refuse_if(!is_name(&self.dataset), "master_data.dataset", message)?;
        refuse_if(self.r#match.is_empty(), "master_data.match", "name at least one field and its column")?;
        for (member, Column { field, column, .. }) in self.columns() {
            refuse_if(field.is_pattern(), member, format!("{field} must name one field, without `*`"))?;
            refuse_if(column.is_empty(), member, format!("name the column that {field} is compared with"))?;
        }
        Ok(())
    }
}
