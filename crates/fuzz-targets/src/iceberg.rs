//! Files of Iceberg: what is read is written, and read again as the same.

use lath_iceberg::{
    ManifestContent, ManifestFile, TableMetadata, read_deletion_vector, read_manifest, read_manifest_list,
    read_puffin_footer, write_deletion_vector,
};

use crate::Input;

/// The first byte selects the kind of file.
///
/// # Panics
/// At a defect.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let kind = input.byte();
    let data = input.rest();
    match kind % 5 {
        0 => {
            let Ok(metadata) = TableMetadata::from_bytes(&data) else { return };
            let _ = metadata.current_schema().map(lath_iceberg::Schema::to_arrow);
            if let Ok(written) = metadata.to_bytes() {
                let read = TableMetadata::from_bytes(&written).expect("what was written is read");
                // NaN and infinities have no form in JSON, and other floats may lose their last digit.
                assert_eq!((read.schemas.len(), read.snapshots), (metadata.schemas.len(), metadata.snapshots));
            }
        }
        1 => drop(read_manifest_list(&data)),
        2 => drop(read_puffin_footer(&data)),
        3 => {
            if let Ok(bitmap) = read_deletion_vector(&data) {
                assert_eq!(write_deletion_vector(bitmap).as_deref(), Ok(&data[..]));
            }
        }
        _ => {
            let mut manifest = ManifestFile::inline("m.avro");
            for content in [ManifestContent::Data, ManifestContent::Deletes] {
                manifest.content = content;
                let _ = read_manifest(&data, &manifest, |id| id % 2 == 0);
            }
        }
    }
}
