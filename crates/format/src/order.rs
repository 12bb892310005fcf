use crate::thrift::{ThriftReader, WireType};

/// The order of the statistics and the column index of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnOrder {
    /// The order of the column's type.
    TypeDefined,
    /// IEEE 754's total order.
    Ieee754Total,
    /// The file does not state the order.
    Undefined,
    /// An unknown order.
    Unknown,
}

/// The list `FileMetaData.column_orders`, without unreadable elements.
pub(crate) fn column_orders(bytes: &[u8]) -> Vec<ColumnOrder> {
    let mut orders = Vec::new();
    if bytes.is_empty() {
        return orders;
    }
    let _ = ThriftReader::new(bytes).each_structure(|reader, _| {
        let mut order = ColumnOrder::Unknown;
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::Struct) => order = ColumnOrder::TypeDefined,
                (2, WireType::Struct) => order = ColumnOrder::Ieee754Total,
                _ => {}
            }
            reader.skip(field)
        })?;
        orders.push(order);
        Ok(())
    });
    orders
}
