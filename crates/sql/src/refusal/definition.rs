//! CREATE TABLE, CREATE VIEW, ALTER TABLE and DROP.

use datafusion::sql::sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, CreateTable, CreateTableOptions, CreateView,
    HiveDistributionStyle, HiveFormat, ObjectName, ObjectType, Spanned, ViewColumnDef,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::{CheckResult, Clauses};

pub(super) const PLAIN: &str = "CREATE TABLE has columns, PRIMARY KEY, UNIQUE, CHECK, FOREIGN KEY, WITH (cold = …), CLUSTER BY and AS query; leave it out";

impl Clauses<'_> {
    pub(super) fn create_table(&self, create: &CreateTable) -> CheckResult {
        let CreateTable {
            or_replace: _,
            // Tables without a key are in memory anyway.
            temporary: _,
            external: _,
            dynamic,
            global,
            if_not_exists: _,
            transient,
            volatile,
            iceberg,
            snapshot,
            name,
            columns,
            constraints,
            hive_distribution,
            hive_formats,
            table_options,
            file_format,
            location,
            query: _,
            without_rowid,
            like,
            clone,
            version,
            comment,
            on_commit,
            on_cluster,
            primary_key,
            order_by,
            partition_by,
            // Supported by tables with a key.
            cluster_by: _,
            clustered_by,
            inherits,
            partition_of,
            for_values,
            strict,
            copy_grants,
            enable_schema_evolution,
            change_tracking,
            data_retention_time_in_days,
            max_data_extension_time_in_days,
            default_ddl_collation,
            with_aggregation_policy,
            with_row_access_policy,
            with_storage_lifecycle_policy,
            with_tags,
            external_volume,
            base_location,
            catalog,
            catalog_sync,
            storage_serialization_policy,
            target_lag,
            warehouse,
            refresh_mode,
            initialize,
            require_user,
            diststyle,
            distkey,
            sortkey,
            backup,
        } = create;
        let after = name.span();
        let from_start = Span::empty();
        self.refuse_if(global.is_some(), "GLOBAL", from_start, "write CREATE TEMPORARY TABLE")?;
        let kinds = [
            (*dynamic, "DYNAMIC"),
            (*transient, "TRANSIENT"),
            (*volatile, "VOLATILE"),
            (*iceberg, "ICEBERG"),
            (*snapshot, "SNAPSHOT"),
        ];
        for (is_there, word) in kinds {
            self.refuse_if(is_there, word, from_start, PLAIN)?;
        }
        let has_hive_format = match hive_formats {
            None => false,
            Some(HiveFormat { row_format, serde_properties, storage, location }) => {
                row_format.is_some() || serde_properties.is_some() || storage.is_some() || location.is_some()
            }
        };
        let clauses = [
            (*hive_distribution != HiveDistributionStyle::NONE, "PARTITIONED"),
            (has_hive_format || file_format.is_some(), "STORED"),
            // WITH is supported by tables with a key.
            (matches!(table_options, CreateTableOptions::Options(_)), "OPTIONS"),
            (matches!(table_options, CreateTableOptions::TableProperties(_)), "TBLPROPERTIES"),
            (location.is_some(), "LOCATION"),
            (*without_rowid, "WITHOUT"),
            (like.is_some(), "LIKE"),
            (clone.is_some(), "CLONE"),
            (version.is_some(), "FOR"),
            (comment.is_some(), "COMMENT"),
            (on_commit.is_some(), "ON COMMIT"),
            (on_cluster.is_some(), "ON CLUSTER"),
            (primary_key.is_some(), "PRIMARY KEY"),
            (order_by.is_some(), "ORDER BY"),
            (partition_by.is_some(), "PARTITION BY"),
            (clustered_by.is_some(), "CLUSTERED BY"),
            (inherits.is_some(), "INHERITS"),
            (partition_of.is_some() || for_values.is_some(), "PARTITION OF"),
            (*strict, "STRICT"),
            (*copy_grants, "COPY GRANTS"),
            (enable_schema_evolution.is_some(), "ENABLE_SCHEMA_EVOLUTION"),
            (change_tracking.is_some(), "CHANGE_TRACKING"),
            (data_retention_time_in_days.is_some(), "DATA_RETENTION_TIME_IN_DAYS"),
            (max_data_extension_time_in_days.is_some(), "MAX_DATA_EXTENSION_TIME_IN_DAYS"),
            (default_ddl_collation.is_some(), "DEFAULT_DDL_COLLATION"),
            (with_aggregation_policy.is_some(), "AGGREGATION POLICY"),
            (with_row_access_policy.is_some(), "ROW ACCESS POLICY"),
            (with_storage_lifecycle_policy.is_some(), "STORAGE LIFECYCLE POLICY"),
            (with_tags.is_some(), "TAG"),
            (external_volume.is_some(), "EXTERNAL_VOLUME"),
            (base_location.is_some(), "BASE_LOCATION"),
            (catalog.is_some(), "CATALOG"),
            (catalog_sync.is_some(), "CATALOG_SYNC"),
            (storage_serialization_policy.is_some(), "STORAGE_SERIALIZATION_POLICY"),
            (target_lag.is_some(), "TARGET_LAG"),
            (warehouse.is_some(), "WAREHOUSE"),
            (refresh_mode.is_some(), "REFRESH_MODE"),
            (initialize.is_some(), "INITIALIZE"),
            (*require_user, "REQUIRE USER"),
            (diststyle.is_some(), "DISTSTYLE"),
            (distkey.is_some(), "DISTKEY"),
            (sortkey.is_some(), "SORTKEY"),
            (backup.is_some(), "BACKUP"),
        ];
        for (is_there, word) in clauses {
            self.refuse_if(is_there, word, after, PLAIN)?;
        }
        if let CreateTableOptions::Plain(options) = table_options {
            let option = options.first().map(ToString::to_string).unwrap_or_default();
            self.refuse_if(true, option.split([' ', '=']).next().unwrap_or(&option), after, PLAIN)?;
        }
        let mut key: Option<Span> = None;
        for column in columns {
            self.column(column, &mut key)?;
        }
        for constraint in constraints {
            self.constraint(constraint, after, &mut key)?;
        }
        Ok(())
    }

    pub(super) fn create_view(&self, create: &CreateView) -> CheckResult {
        let CreateView {
            or_alter,
            or_replace: _,
            materialized,
            secure,
            name,
            name_before_not_exists: _,
            columns,
            query: _,
            options,
            cluster_by,
            comment,
            with_no_schema_binding,
            if_not_exists: _,
            temporary: _,
            copy_grants,
            to,
            params,
        } = create;
        let (after, start) = (name.span(), Span::empty());
        self.refuse_if(*or_alter, "OR ALTER", start, "write OR REPLACE")?;
        self.refuse_if(*materialized, "MATERIALIZED", start, "CREATE TABLE … AS keeps the rows of a query")?;
        self.refuse_if(*secure, "SECURE", start, "leave it out")?;
        for ViewColumnDef { name, data_type, options } in columns {
            let advice = "columns have the types of the query; cast them there";
            self.refuse_if(data_type.is_some(), &name.to_string(), name.span, advice)?;
            self.refuse_if(options.is_some(), &name.to_string(), name.span, "write the name of the column alone")?;
        }
        self.refuse_if(!matches!(options, CreateTableOptions::None), "WITH", after, "leave it out")?;
        self.refuse_if(!cluster_by.is_empty(), "CLUSTER BY", after, "a view has no rows of its own; leave it out")?;
        self.refuse_if(comment.is_some(), "COMMENT", after, "leave it out")?;
        self.refuse_if(*with_no_schema_binding, "WITH NO SCHEMA BINDING", after, "leave it out")?;
        self.refuse_if(*copy_grants, "COPY GRANTS", after, "leave it out")?;
        self.refuse_if(to.is_some(), "TO", after, "leave it out")?;
        self.refuse_if(params.is_some(), "CREATE", start, "leave out the words before VIEW")
    }

    pub(super) fn alter_table(&self, alter: &AlterTable) -> CheckResult {
        for operation in &alter.operations {
            match operation {
                AlterTableOperation::AddColumn { column_def, .. } => self.column(column_def, &mut None)?,
                AlterTableOperation::AddConstraint { constraint, not_valid } => {
                    let after = alter.name.span();
                    self.refuse_if(*not_valid, "NOT VALID", after, "existing rows are checked; leave it out")?;
                    self.constraint(constraint, after, &mut None)?;
                }
                AlterTableOperation::AlterColumn {
                    column_name,
                    op: AlterColumnOperation::SetDataType { data_type, .. },
                } => self.declared_type(data_type, column_name)?,
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn drop_object(
        &self,
        object_type: &ObjectType,
        names: &[ObjectName],
        cascade: bool,
        purge: bool,
        temporary: bool,
    ) -> CheckResult {
        let after = names.first().map_or(Span::empty(), Spanned::span);
        let is_alone = matches!(object_type, ObjectType::Table | ObjectType::View | ObjectType::Index);
        self.refuse_if(
            cascade && is_alone,
            "CASCADE",
            after,
            "nothing else is dropped; drop what depends on it first",
        )?;
        self.refuse_if(purge, "PURGE", after, "leave it out")?;
        self.refuse_if(temporary, "TEMPORARY", Span::empty(), "leave it out")
    }
}
