//! On macOS, a module of Python is linked as a library whose symbols Python has when it is loaded.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
