//! The expressions of filters, as the clients write them: `point:degree > 3 and point:kind in ('a', 'b')`.
//!
//! ```text
//! or       = and ("or" and)*
//! and      = not ("and" not)*
//! not      = "not" not | "(" or ")" | test
//! test     = name "is" ["not"] "null"
//!          | name ["not"] "in" "(" value ("," value)* ")"
//!          | name ["not"] "between" value "and" value
//!          | name ["not"] ("like" | "ilike") text
//!          | name cmp value | value cmp name
//! cmp      = "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">="
//! name     = [("point" | "node" | "edge") ":"] (word | "…" | `…`)
//! value    = number | '…' | "…" | "true" | "false" | "null"
//! ```
//!
//! Words of the grammar are read in any case. In quotes the quote itself is written twice. Texts of LIKE have `%` for any
//! characters and `_` for one; a backslash takes either literally.

mod lex;
mod parse;

pub(crate) use parse::{Expr, Literal, Test, parse};

#[cfg(test)]
mod tests;
