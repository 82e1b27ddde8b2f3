#!/usr/bin/env bash
# Builds libdovetail and installs it without cargo-c: libraries, headers, dovetail.pc and the files for CMake's find_package.
#
#   install.sh PREFIX
#
# The shared library has the same soname and links as with cargo-c. Debug information is not installed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
prefix=${1:?usage: install.sh PREFIX}
mkdir -p "$prefix"
prefix=$(cd "$prefix" && pwd)
version=$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' "$here/cmake/dovetail-config-version.cmake")
# The part of the version that compatible releases share, as in cargo-c: up to the first number that is not zero.
series=$(sed -E 's/^((0\.)*[1-9][0-9]*).*/\1/' <<<"$version")

case $(uname -s) in
Darwin)
    plain=libdovetail.dylib short=libdovetail.$series.dylib long=libdovetail.$version.dylib
    name_it=-Wl,-install_name,$prefix/lib/$short
    ;;
*)
    plain=libdovetail.so short=libdovetail.so.$series long=libdovetail.so.$version
    name_it=-Wl,-soname,$short
    ;;
esac

# Cargo reports where the files are, whatever target directory or platform is configured.
built=$(cargo rustc --locked --release --manifest-path "$here/../../Cargo.toml" -p dovetail-c --crate-type cdylib,staticlib \
    --message-format json-render-diagnostics -- -C "link-arg=$name_it" |
    grep '"reason":"compiler-artifact"' | grep '"name":"dovetail"' | tr '"' '\n')
shared=$(grep "/$plain\$" <<<"$built")
static=$(grep '/libdovetail\.a$' <<<"$built")

install -d "$prefix/lib/pkgconfig" "$prefix/include" "$prefix/share/cmake/dovetail"
# Earlier versions installed a file under the name of the link.
rm -f "$prefix/lib/$plain" "$prefix/lib/$short"
install -m 755 "$shared" "$prefix/lib/$long"
install -m 644 "$static" "$prefix/lib/libdovetail.a"
if command -v strip >/dev/null; then
    strip -S "$prefix/lib/$long" "$prefix/lib/libdovetail.a"
fi
if [ "$short" != "$long" ]; then
    ln -s "$long" "$prefix/lib/$short"
fi
ln -s "$long" "$prefix/lib/$plain"
install -m 644 "$here"/include/* "$prefix/include/"
install -m 644 "$here"/cmake/*.cmake "$prefix/share/cmake/dovetail/"
# In a pkg-config file, a backslash goes before a space.
cat >"$prefix/lib/pkgconfig/dovetail.pc" <<PC
prefix=${prefix// /\\ }
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
