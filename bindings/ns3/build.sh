#!/usr/bin/env bash
# Builds the module, its tests and its examples against the ns3 wheel, without an ns-3 source tree.
#
#   build.sh [FOLDER]      FOLDER gets all that is made: a virtual environment, libraries, programs; target/ns3 unless given
#
# NS3_WHEEL=DIR takes headers and libraries from an unpacked wheel (the folder that has include/ and lib64/).
# DOVETAIL_PREFIX=DIR takes libdovetail from where it is installed, instead of building it with cargo.
# Exit status 77: the wheel, or a compiler, is not to be had.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/../../target/ns3}
mkdir -p "$out"
out=$(cd "$out" && pwd)
# The wheels of one release have a name like 3.44.post0.
version='>=3.44,<3.45'

missing() {
  echo "the ns-3 module is not built: $*" >&2
  exit 77
}
command -v "${CXX:=g++}" >/dev/null || missing "there is no C++ compiler"

# ns-3: of the wheel only headers and libraries are needed, not the Python bindings that it depends on.
wheel=${NS3_WHEEL:-}
if [ -z "$wheel" ]; then
  python=$(command -v python3) || missing "there is no python3"
  if ! ls "$out"/venv/lib/python3*/site-packages/ns3/include/ns3/core-module.h >/dev/null 2>&1; then
    "$python" -m venv "$out/venv" >/dev/null 2>&1 || missing "python3 -m venv fails"
    "$out/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: "ns3$version" >&2 ||
      missing "pip cannot install the ns3 wheel"
  fi
  wheel=$(echo "$out"/venv/lib/python3*/site-packages/ns3)
fi
[ -e "$wheel/include/ns3/core-module.h" ] || missing "$wheel has no ns-3 headers"

# libdovetail.
if [ -n "${DOVETAIL_PREFIX:-}" ]; then
  dovetail_include=$DOVETAIL_PREFIX/include
  dovetail_lib=$(dirname "$(find "$DOVETAIL_PREFIX"/lib* -name libdovetail.so -print -quit)")
else
  target=${CARGO_TARGET_DIR:-$here/../../target}
  # DOVETAIL_PROFILE=dev is what tests have built already; figures are of what is optimised.
  profile=${DOVETAIL_PROFILE:-release}
  cargo build --quiet --locked --profile "$profile" --manifest-path "$here/../../Cargo.toml" -p dovetail-c >&2
  dovetail_include=$here/../c/include
  dovetail_lib=$(cd "$target/${profile/#dev/debug}" && pwd)
fi

# The layout of ns-3's classes depends on how ns-3 was built.
defined=$(grep -m1 INTERFACE_COMPILE_DEFINITIONS "$wheel"/lib64/cmake/ns3/ns3Targets.cmake)
flags=(-std=c++20 -O2 -fPIC -Wall -Wextra -Werror)
for name in NS3_LOG_ENABLE NS3_ASSERT_ENABLE; do
  case $defined in *$name*) flags+=("-D$name") ;; esac
done

# In a source tree ns-3 copies headers to ns3/; here links do.
module=$here/contrib/dovetail
mkdir -p "$out/include/ns3" "$out/objects"
ln -sf "$module"/model/*.h "$module"/helper/*.h "$out/include/ns3/"
includes=(-I"$out/include" -isystem "$wheel/include" -I"$dovetail_include")

libs=(-L"$wheel/lib64")
for lib in applications internet-apps point-to-point internet traffic-control network core; do
  libs+=("-l:$(basename "$wheel"/lib64/libns3.*-"$lib".so)")
done
rpath=(-Wl,-rpath,"$wheel/lib64" -Wl,-rpath,"$dovetail_lib" -Wl,-rpath,"$out" -Wl,-rpath-link,"$wheel/lib64")

# Compiles what is older than its source, any header of the module or libdovetail's.
compile() {
  local source=$1 object=$2
  if [ -e "$object" ] && [ -z "$(find -L "$source" "$out/include" "$dovetail_include" "$here/build.sh" -newer "$object" -name '*.*')" ]; then
    return
  fi
  "$CXX" "${flags[@]}" "${includes[@]}" -c "$source" -o "$object"
}
objects=()
for source in "$module"/model/*.cc "$module"/helper/*.cc; do
  object=$out/objects/$(basename "$source" .cc).o
  compile "$source" "$object"
  objects+=("$object")
done
"$CXX" -shared -o "$out/libns3-dovetail.so" "${objects[@]}" "${libs[@]}" -L"$dovetail_lib" -ldovetail "${rpath[@]}"

programs=("$module"/examples/*.cc)
[ -n "${DOVETAIL_NO_EXAMPLES:-}" ] && programs=()
for source in "$module"/test/*.cc "$here"/test-runner.cc "${programs[@]}"; do
  compile "$source" "$out/objects/$(basename "$source" .cc).o"
done
# The disc registers itself, also where a program only knows its name.
link() {
  "$CXX" -o "$out/$1" "${@:2}" -L"$out" -Wl,--no-as-needed -lns3-dovetail -Wl,--as-needed "${libs[@]}" "${rpath[@]}"
}
tests=()
for source in "$module"/test/*.cc; do tests+=("$out/objects/$(basename "$source" .cc).o"); done
link test-runner "$out/objects/test-runner.o" "${tests[@]}"
for source in "${programs[@]}"; do
  name=$(basename "$source" .cc)
  link "$name" "$out/objects/$name.o"
done
