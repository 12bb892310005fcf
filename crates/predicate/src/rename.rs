//! Gives a column another name.

use crate::predicate::Predicate;
use crate::syntax::{ColumnName, Condition, Name, Operand};

impl Predicate {
    /// The condition for rows in which a column has another name. A name without quotes means the column, too, if it differs in case only.
    ///
    /// ```
    /// use lath_predicate::Predicate;
    ///
    /// let renamed = Predicate::parse("price > 0 AND \"price\" < cost")?.with_renamed_column("price", "Net Price");
    /// assert_eq!(renamed.to_string(), "\"Net Price\" > 0 AND \"Net Price\" < cost");
    /// # Ok::<(), lath_predicate::Error>(())
    /// ```
    #[must_use]
    pub fn with_renamed_column(&self, name: &str, new_name: &str) -> Self {
        let mut condition = self.condition().clone();
        rename(&mut condition, &|column| {
            let Name { text, quoted } = &column.name;
            if text == name || (!quoted && text.to_lowercase() == name.to_lowercase()) {
                column.name = Name { text: new_name.to_owned(), quoted: true };
            }
        });
        condition.into()
    }
}

/// Calls `change` for each column of a condition.
fn rename(condition: &mut Condition, change: &dyn Fn(&mut ColumnName)) {
    match condition {
        Condition::And(conditions) | Condition::Or(conditions) => {
            conditions.iter_mut().for_each(|condition| rename(condition, change));
        }
        Condition::Not(inner) | Condition::Is(inner, _) => rename(inner, change),
        Condition::Compare { left, op: _, right } | Condition::Same(left, right) => {
            rename_operand(left, change);
            rename_operand(right, change);
        }
        Condition::Between { operand, .. }
        | Condition::In { operand, .. }
        | Condition::Contains { operand, .. }
        | Condition::Like { operand, .. }
        | Condition::IsNull(operand)
        | Condition::Truth(operand) => rename_operand(operand, change),
    }
}

fn rename_operand(operand: &mut Operand, change: &dyn Fn(&mut ColumnName)) {
    match operand {
        Operand::Column(name) => change(name),
        Operand::Literal(_) => {}
        Operand::Cast { operand, .. } => rename_operand(operand, change),
    }
}
