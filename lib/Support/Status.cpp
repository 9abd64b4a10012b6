//===- Status.cpp - anchors the library ------------------------------------===//
#include "dsc/Support/Status.h"
