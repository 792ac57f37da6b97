// SPDX-License-Identifier: MIT
/// A management library of two GPUs with four NVLinks between them, for the tests of reading one.
#include <cstdio>
#include <cstring>

namespace {

struct Device {
  unsigned bus;
};
Device devices[] = {{0x03}, {0x04}};

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

int describe(unsigned bus, PciInfo* info) {
  *info = {};
  info->bus = bus;
  std::snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", bus);
  return 0;
}

}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 2, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device** device) {
  return *device = &devices[index], 0;
}
int nvmlDeviceGetName(Device* /*device*/, char* name, unsigned length) {
  std::strncpy(name, "NVIDIA RTX A6000", length);
  return 0;
}
int nvmlDeviceGetPciInfo_v3(Device* device, PciInfo* info) { return describe(device->bus, info); }
int nvmlDeviceGetNvLinkState(Device* /*device*/, unsigned link, int* active) {
  return *active = link < 4 ? 1 : 0, 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device* device, unsigned /*link*/, PciInfo* info) {
  return describe(device->bus == 0x03 ? 0x04 : 0x03, info);
}
}
