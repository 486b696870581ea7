//! Types that expressions must have, checked where they are read.

use graphlume_expr::{ErrorCode, QueryError};

use super::Binder;
use crate::error::placed;
use crate::types::Ty;

impl Binder<'_> {
    /// Refuses a type that cannot be the one that is needed.
    pub(crate) fn expect(
        &self,
        offset: usize,
        ty: Ty,
        wanted: Ty,
        what: &str,
    ) -> Result<(), QueryError> {
        if ty.may_be(wanted) {
            return Ok(());
        }
        let text = format!("{what} must be {}, not {}", wanted.describe(), ty.describe());
        Err(placed(ErrorCode::Type, self.text, offset, text))
    }
}
