//! Metadata of the server and its database.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;
use arrow_flight::FlightInfo;
use arrow_flight::error::FlightError;
use arrow_flight::sql::{
    CommandGetCrossReference, CommandGetDbSchemas, CommandGetExportedKeys, CommandGetImportedKeys,
    CommandGetPrimaryKeys, CommandGetTables, CommandGetXdbcTypeInfo, SqlInfo,
};
use arrow_ipc::convert::try_schema_from_ipc_buffer;
use arrow_schema::DataType;

use crate::{Client, TestServer, fetch, shown, update};

async fn answer(client: &mut Client, info: Result<FlightInfo, FlightError>) -> String {
    shown(&fetch(client, info.unwrap()).await.unwrap())
}

async fn shop() -> (TestServer, Client) {
    let served = TestServer::new();
    let mut client = served.client().await;
    update(
        &mut client,
        "CREATE TABLE customers (region BIGINT, id BIGINT, name VARCHAR NOT NULL, PRIMARY KEY (region, id))",
    )
    .await;
    update(
        &mut client,
        "CREATE TABLE orders (id BIGINT PRIMARY KEY, r BIGINT, c BIGINT,
         CONSTRAINT bought_by FOREIGN KEY (r, c) REFERENCES customers (region, id) ON DELETE CASCADE)",
    )
    .await;
    update(&mut client, "CREATE VIEW names AS SELECT name FROM customers").await;
    (served, client)
}

fn tables(pattern: Option<&str>) -> CommandGetTables {
    CommandGetTables {
        catalog: None,
        db_schema_filter_pattern: Some("public".to_owned()),
        table_name_filter_pattern: pattern.map(str::to_owned),
        table_types: Vec::new(),
        include_schema: false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn catalogs_schemas_and_tables_are_listed() {
    let (_served, mut client) = shop().await;
    let info = client.get_catalogs().await;
    assert_eq!(answer(&mut client, info).await, "datafusion");
    let info = client.get_db_schemas(CommandGetDbSchemas { catalog: None, db_schema_filter_pattern: None }).await;
    assert_eq!(answer(&mut client, info).await, "datafusion public");
    let info = client.get_tables(tables(None)).await;
    assert_eq!(
        answer(&mut client, info).await,
        "datafusion public customers TABLE, datafusion public names VIEW, datafusion public orders TABLE"
    );
    let info = client.get_tables(tables(Some("%me%"))).await;
    assert_eq!(answer(&mut client, info).await, "datafusion public customers TABLE, datafusion public names VIEW");
    let info = client.get_tables(CommandGetTables { table_types: vec!["VIEW".to_owned()], ..tables(None) }).await;
    assert_eq!(answer(&mut client, info).await, "datafusion public names VIEW");
    let info = client.get_table_types().await;
    assert_eq!(answer(&mut client, info).await, "LOCAL TEMPORARY, TABLE, VIEW");
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_listed_with_their_columns() {
    let (_served, mut client) = shop().await;
    let info = client.get_tables(CommandGetTables { include_schema: true, ..tables(Some("customers")) }).await.unwrap();
    let batches = fetch(&mut client, info).await.unwrap();
    let schema =
        try_schema_from_ipc_buffer(batches[0].column_by_name("table_schema").unwrap().as_binary::<i32>().value(0))
            .unwrap();
    let columns: Vec<_> =
        schema.fields().iter().map(|field| (field.name().as_str(), field.data_type(), field.is_nullable())).collect();
    assert_eq!(
        columns,
        [("region", &DataType::Int64, false), ("id", &DataType::Int64, false), ("name", &DataType::Utf8, false)]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_listed() {
    let (_served, mut client) = shop().await;
    let primary = |table: &str| CommandGetPrimaryKeys { catalog: None, db_schema: None, table: table.to_owned() };
    let info = client.get_primary_keys(primary("customers")).await;
    assert_eq!(
        answer(&mut client, info).await,
        "datafusion public customers region  1, datafusion public customers id  2"
    );
    let info = client.get_primary_keys(primary("names")).await;
    assert_eq!(answer(&mut client, info).await, "");
    let key = "datafusion public customers region datafusion public orders r 1 bought_by  3 0, \
               datafusion public customers id datafusion public orders c 2 bought_by  3 0";
    let imported = |table: &str| CommandGetImportedKeys { catalog: None, db_schema: None, table: table.to_owned() };
    let exported = |table: &str| CommandGetExportedKeys { catalog: None, db_schema: None, table: table.to_owned() };
    let cross = |pk: &str, fk: &str| CommandGetCrossReference {
        pk_catalog: None,
        pk_db_schema: None,
        pk_table: pk.to_owned(),
        fk_catalog: None,
        fk_db_schema: None,
        fk_table: fk.to_owned(),
    };
    for (from, to) in [("orders", "customers"), ("customers", "orders")] {
        let expected = if from == "orders" { key } else { "" };
        let info = client.get_imported_keys(imported(from)).await;
        assert_eq!(answer(&mut client, info).await, expected);
        let info = client.get_exported_keys(exported(to)).await;
        assert_eq!(answer(&mut client, info).await, expected);
        let info = client.get_cross_reference(cross(to, from)).await;
        assert_eq!(answer(&mut client, info).await, expected);
    }
    let info = client.get_imported_keys(imported("orders")).await.unwrap();
    let rules = fetch(&mut client, info).await.unwrap();
    assert_eq!(rules[0].column_by_name("delete_rule").unwrap().as_primitive::<UInt8Type>().value(0), 0, "cascade");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_says_what_it_is_and_which_types_it_has() {
    let (_served, mut client) = shop().await;
    let wanted =
        vec![SqlInfo::FlightSqlServerName, SqlInfo::FlightSqlServerTransaction, SqlInfo::FlightSqlServerBulkIngestion];
    let info = client.get_sql_info(wanted).await;
    let text = answer(&mut client, info).await;
    assert!(text.contains("Lath") && text.split(", ").count() == 3, "{text}");
    let info = client.get_sql_info(Vec::new()).await;
    assert!(answer(&mut client, info).await.split(", ").count() > 30);
    let info = client.get_xdbc_type_info(CommandGetXdbcTypeInfo { data_type: None }).await;
    let all = answer(&mut client, info).await;
    assert!(all.contains("BIGINT") && all.contains("TIMESTAMP"), "{all}");
    let info = client.get_xdbc_type_info(CommandGetXdbcTypeInfo { data_type: Some(-5) }).await;
    assert!(answer(&mut client, info).await.starts_with("BIGINT -5 19"));
}
