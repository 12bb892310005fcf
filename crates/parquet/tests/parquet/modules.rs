//! The modules of the crate depend on each other in one direction only.

use std::path::Path;

use lath_testkit::circles_of_modules;

#[test]
fn no_modules_depend_on_each_other_in_a_circle() {
    let circles = circles_of_modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "crate");
    assert!(circles.is_empty(), "{circles:#?}");
    // Those of the crates around it, which have no test of their own.
    for library in
        ["kernels", "predicate", "source", "format", "json", "catalog", "sql", "table", "lath", "cli", "testkit"]
    {
        let circles =
            circles_of_modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(library).join("src"), "crate");
        assert!(circles.is_empty(), "{library}: {circles:#?}");
    }
}
