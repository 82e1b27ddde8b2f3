// SPDX-License-Identifier: MIT OR Apache-2.0

// What utils/test-runner is in a source tree: runs the suites that are linked in.

#include "ns3/test.h"

int
main(int argc, char* argv[])
{
    return ns3::TestRunner::Run(argc, argv);
}
