//! ALP pages through the `parquet` crate's public interface: its column reader and writer, with a page of our own
//! between them.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use parquet::basic::{Encoding, PageType};
use parquet::column::page::{CompressedPage, Page, PageMetadata, PageReader, PageWriteSpec, PageWriter};
use parquet::column::reader::ColumnReaderImpl;
use parquet::column::writer::{get_column_writer, get_typed_column_writer};
use parquet::data_type::DataType;
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, ColumnPath, Type};

use crate::columns::Value;

fn descriptor<T: DataType>() -> ColumnDescPtr {
    let primitive = Type::primitive_type_builder("value", T::get_physical_type()).build().expect("type is sound");
    Arc::new(ColumnDescriptor::new(Arc::new(primitive), 0, 0, ColumnPath::from("value")))
}

/// The values of a page.
pub fn decode<T: Value>(page: Bytes, count: usize) -> Result<Vec<T>> {
    let page = Page::DataPage {
        buf: page,
        num_values: count as u32,
        encoding: Encoding::ALP,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    let reader = OnePage { page: Some(page) };
    let mut column = ColumnReaderImpl::<T::Physical>::new(descriptor::<T::Physical>(), Box::new(reader));
    let mut values = Vec::new();
    column.read_records(count, None, None, &mut values)?;
    Ok(values)
}

/// Encodes the values as a page.
pub fn encode<T: Value>(values: &[T]) -> Result<Bytes> {
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::ALP)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_data_page_row_count_limit(usize::MAX)
        .set_data_page_size_limit(usize::MAX)
        .build();
    let pages = Arc::new(Mutex::new(Vec::new()));
    let sink = Box::new(PageCollector { pages: Arc::clone(&pages) });
    let writer = get_column_writer(descriptor::<T::Physical>(), Arc::new(properties), sink);
    let mut writer = get_typed_column_writer::<T::Physical>(writer);
    writer.write_batch(values, None, None)?;
    writer.close()?;
    let mut pages = pages.lock().expect("nobody panicked");
    assert_eq!(pages.len(), 1);
    Ok(pages.remove(0))
}

struct OnePage {
    page: Option<Page>,
}

impl Iterator for OnePage {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.page.take().map(Ok)
    }
}

impl PageReader for OnePage {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        Ok(self.page.take())
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        Ok(None)
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.page = None;
        Ok(())
    }
}

struct PageCollector {
    pages: Arc<Mutex<Vec<Bytes>>>,
}

impl PageWriter for PageCollector {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec> {
        assert_eq!(page.encoding(), Encoding::ALP);
        let mut spec = PageWriteSpec::new();
        spec.page_type = PageType::DATA_PAGE;
        spec.num_values = page.num_values();
        let data = page.compressed_page().buffer().clone();
        spec.compressed_size = data.len();
        spec.uncompressed_size = data.len();
        spec.bytes_written = data.len() as u64;
        self.pages.lock().expect("nobody panicked").push(data);
        Ok(spec)
    }

    fn close(&mut self) -> Result<()> {
        Ok(())
    }
}
