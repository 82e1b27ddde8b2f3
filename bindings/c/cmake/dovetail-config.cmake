# find_package(dovetail): the targets dovetail::dovetail (the shared library) and dovetail::static.
# It is installed in PREFIX/share/cmake/dovetail, and finds the rest from there.
get_filename_component(_dovetail_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

find_path(dovetail_INCLUDE_DIR dovetail.h PATHS "${_dovetail_prefix}/include" NO_DEFAULT_PATH)
# Also lib64, lib/x86_64-linux-gnu and the like.
set(_dovetail_folders "${_dovetail_prefix}/lib" "${_dovetail_prefix}/lib64"
    "${_dovetail_prefix}/lib/${CMAKE_LIBRARY_ARCHITECTURE}")
find_library(dovetail_LIBRARY NAMES dovetail PATHS ${_dovetail_folders} NO_DEFAULT_PATH)
find_library(dovetail_STATIC_LIBRARY
    NAMES "${CMAKE_STATIC_LIBRARY_PREFIX}dovetail${CMAKE_STATIC_LIBRARY_SUFFIX}"
    PATHS ${_dovetail_folders} NO_DEFAULT_PATH)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(dovetail REQUIRED_VARS dovetail_LIBRARY dovetail_INCLUDE_DIR)

if(dovetail_FOUND AND NOT TARGET dovetail::dovetail)
    add_library(dovetail::dovetail UNKNOWN IMPORTED)
    set_target_properties(dovetail::dovetail PROPERTIES
        IMPORTED_LOCATION "${dovetail_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${dovetail_INCLUDE_DIR}")
    if(dovetail_STATIC_LIBRARY)
        # What Rust's standard library needs of the system.
        find_package(Threads REQUIRED)
        add_library(dovetail::static STATIC IMPORTED)
        set_target_properties(dovetail::static PROPERTIES
            IMPORTED_LOCATION "${dovetail_STATIC_LIBRARY}"
            INTERFACE_INCLUDE_DIRECTORIES "${dovetail_INCLUDE_DIR}"
            INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
    endif()
endif()
mark_as_advanced(dovetail_INCLUDE_DIR dovetail_LIBRARY dovetail_STATIC_LIBRARY)
unset(_dovetail_prefix)
unset(_dovetail_folders)
