//! Lets macOS link a library whose Python symbols are the interpreter's.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
