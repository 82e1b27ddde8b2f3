#!/usr/bin/env bash
# Builds libdovetail and installs it without cargo-c: library, headers, dovetail.pc and what CMake's find_package reads.
#
#   install.sh PREFIX
#
# cargo-c also gives the shared library its soname; with this one, programs are to be linked anew after an update.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
prefix=${1:?usage: install.sh PREFIX}
mkdir -p "$prefix"
prefix=$(cd "$prefix" && pwd)
cargo build --locked --release --manifest-path "$here/../../Cargo.toml" -p dovetail-c
target=${CARGO_TARGET_DIR:-$here/../../target}
version=$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' "$here/cmake/dovetail-config-version.cmake")

install -d "$prefix/lib/pkgconfig" "$prefix/include" "$prefix/share/cmake/dovetail"
install -m 755 "$target/release/libdovetail.so" "$prefix/lib/"
install -m 644 "$target/release/libdovetail.a" "$prefix/lib/"
install -m 644 "$here"/include/* "$prefix/include/"
install -m 644 "$here"/cmake/*.cmake "$prefix/share/cmake/dovetail/"
cat >"$prefix/lib/pkgconfig/dovetail.pc" <<PC
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: dovetail
Description: Packet and request schedulers that share several resources fairly
Version: $version
Libs: -L\${libdir} -ldovetail
Libs.private: -lpthread -ldl -lm
Cflags: -I\${includedir}
PC
echo "installed in $prefix"
