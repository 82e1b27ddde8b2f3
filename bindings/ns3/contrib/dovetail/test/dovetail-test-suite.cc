// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ns3/test.h"
