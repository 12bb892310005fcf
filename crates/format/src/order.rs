use crate::thrift::{ThriftReader, WireType};

/// The order that the statistics and the column index of a column are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnOrder {
    /// That of the column's type.
    TypeDefined,
    /// IEEE 754's total order.
    Ieee754Total,
    /// The file does not say it.
    Undefined,
    /// One that this version does not know.
    Unknown,
}

/// The list `FileMetaData.column_orders`; what cannot be read is left out.
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
