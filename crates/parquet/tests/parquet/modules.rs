//! The modules of every crate depend on each other in one direction only.

use std::fs;
use std::path::Path;

use lath_testkit::circles_of_modules;

#[test]
fn no_modules_depend_on_each_other_in_a_circle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut checked = 0;
    for entry in fs::read_dir(&crates).expect("the folder of all crates") {
        let source = entry.expect("an entry of a folder").path().join("src");
        // Crates that consist of programs, such as the fuzz targets, have no modules.
        if ["lib.rs", "main.rs"].iter().any(|root| source.join(root).exists()) {
            let circles = circles_of_modules(&source);
            assert!(circles.is_empty(), "{}: {circles:#?}", source.display());
            checked += 1;
        }
    }
    assert!(checked > 15, "{checked} crates in {}", crates.display());
}
