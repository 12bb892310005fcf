//! The modules of the crate depend on each other in one direction only.

use std::path::Path;

use lath_testkit::circles_of_modules;

#[test]
fn no_modules_depend_on_each_other_in_a_circle() {
    let circles = circles_of_modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "crate");
    assert!(circles.is_empty(), "{circles:#?}");
}
