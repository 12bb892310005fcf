//! Writes structures field by field.

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I8: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Appends one structure to a buffer, field by field in the order of their numbers.
#[derive(Debug)]
pub struct ThriftWriter<'a> {
    out: &'a mut Vec<u8>,
    previous: i16,
}

impl<'a> ThriftWriter<'a> {
    /// Begins a structure at the end of `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, previous: 0 }
    }

    /// Continues a structure whose last field has the number `previous`.
    pub fn after(out: &'a mut Vec<u8>, previous: i16) -> Self {
        Self { out, previous }
    }

    /// A boolean.
    pub fn bool(&mut self, id: i16, value: bool) {
        self.begin(id, if value { TRUE } else { FALSE });
    }

    /// An 8-bit integer.
    pub fn i8(&mut self, id: i16, value: i8) {
        self.begin(id, I8);
        self.out.push(value.cast_unsigned());
    }

    /// A 16-bit integer.
    pub fn i16(&mut self, id: i16, value: i16) {
        self.begin(id, I16);
        self.integer(value.into());
    }

    /// A 32-bit integer.
    pub fn i32(&mut self, id: i16, value: i32) {
        self.begin(id, I32);
        self.integer(value.into());
    }

    /// A 64-bit integer.
    pub fn i64(&mut self, id: i16, value: i64) {
        self.begin(id, I64);
        self.integer(value);
    }

    /// A double.
    pub fn double(&mut self, id: i16, value: f64) {
        self.begin(id, DOUBLE);
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    /// A byte string, or text in UTF-8.
    pub fn binary(&mut self, id: i16, value: impl AsRef<[u8]>) {
        self.begin(id, BINARY);
        self.byte_string(value.as_ref());
    }

    /// A structure within this one, whose fields `write` appends.
    pub fn structure(&mut self, id: i16, write: impl FnOnce(&mut ThriftWriter<'_>)) {
        self.begin(id, STRUCT);
        let mut inner = ThriftWriter::new(self.out);
        write(&mut inner);
        inner.end();
    }

    /// A list of booleans.
    pub fn bools(&mut self, id: i16, values: impl ExactSizeIterator<Item = bool>) {
        self.list(id, TRUE, values, |writer, value| writer.out.push(if value { TRUE } else { FALSE }));
    }

    /// A list of 32-bit integers.
    pub fn i32s(&mut self, id: i16, values: impl ExactSizeIterator<Item = i32>) {
        self.list(id, I32, values, |writer, value| writer.integer(value.into()));
    }

    /// A list of 64-bit integers.
    pub fn i64s(&mut self, id: i16, values: impl ExactSizeIterator<Item = i64>) {
        self.list(id, I64, values, ThriftWriter::integer);
    }

    /// A list of byte strings.
    pub fn byte_strings<'b>(&mut self, id: i16, values: impl ExactSizeIterator<Item = &'b [u8]>) {
        self.list(id, BINARY, values, ThriftWriter::byte_string);
    }

    /// A list of structures, whose fields `write` appends.
    pub fn structures<T>(
        &mut self,
        id: i16,
        values: impl ExactSizeIterator<Item = T>,
        write: impl Fn(&mut ThriftWriter<'_>, T),
    ) {
        self.list(id, STRUCT, values, |writer, value| {
            let mut inner = ThriftWriter::new(writer.out);
            write(&mut inner, value);
            inner.end();
        });
    }

    fn list<T>(
        &mut self,
        id: i16,
        wire_type: u8,
        values: impl ExactSizeIterator<Item = T>,
        write: impl Fn(&mut Self, T),
    ) {
        self.begin(id, LIST);
        match values.len() {
            len @ ..15 => self.out.push((len as u8) << 4 | wire_type),
            len => {
                self.out.push(0xf0 | wire_type);
                self.length(len);
            }
        }
        values.for_each(|value| write(self, value));
    }

    /// A field with an encoded value.
    pub fn encoded(&mut self, id: i16, wire_type: u8, value: &[u8]) {
        self.begin(id, wire_type);
        self.out.extend_from_slice(value);
    }

    /// Ends the structure.
    pub fn end(self) {
        self.out.push(0);
    }

    /// Begins a field, before its value. The number is written as the difference to the one before, if that is positive and fits four bits.
    pub fn begin(&mut self, id: i16, wire_type: u8) {
        match id.checked_sub(self.previous).and_then(|delta| u8::try_from(delta).ok()) {
            Some(delta @ 1..=15) => self.out.push(delta << 4 | wire_type),
            _ => {
                self.out.push(wire_type);
                self.integer(id.into());
            }
        }
        self.previous = id;
    }

    fn byte_string(&mut self, value: &[u8]) {
        self.length(value.len());
        self.out.extend_from_slice(value);
    }

    /// A variable-length integer whose lowest bit is the sign.
    fn integer(&mut self, value: i64) {
        self.variable(value.cast_unsigned() << 1 ^ (value >> 63).cast_unsigned());
    }

    fn length(&mut self, length: usize) {
        self.variable(length as u64);
    }

    fn variable(&mut self, mut rest: u64) {
        while rest >= 0x80 {
            self.out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.out.push(rest as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::ThriftWriter;

    #[test]
    fn fields_are_written_as_the_protocol_describes_them() {
        let mut out = Vec::new();
        let mut writer = ThriftWriter::new(&mut out);
        writer.i32(1, -1);
        writer.bool(2, true);
        writer.structure(5, |inner| inner.i64(3, i64::MIN));
        writer.bool(30, false);
        writer.i8(31, -2);
        writer.i16(32, -2);
        writer.double(33, 1.0);
        writer.binary(34, "ab");
        writer.i32s(35, [1, -1].into_iter());
        writer.end();
        let expected = [
            &[0x15, 0x01][..],                                                               // 1: i32 -1
            &[0x11],                                                                         // 2: true
            &[0x3c, 0x36, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00], // 5: { 3: i64 minimum }
            &[0x02, 0x3c],                         // 30 in the long form: false
            &[0x13, 0xfe],                         // 31: i8 -2
            &[0x14, 0x03],                         // 32: i16 -2
            &[0x17, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f], // 33: double 1
            &[0x18, 0x02, b'a', b'b'],             // 34: "ab"
            &[0x19, 0x25, 0x02, 0x01],             // 35: list of 2 i32s
            &[0x00],
        ]
        .concat();
        assert_eq!(out, expected);
    }
}
