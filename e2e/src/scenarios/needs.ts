// SPDX-License-Identifier: Apache-2.0
/** The requirements that a scenario may have on control plane, driver and machine. */
import type { Capability } from '../control-planes/control-plane.ts';

/** Requirements on the driver or the machine. */
export type MachineNeed =
  /** The driver can be made to fail, hang or crash; a foreign one (`CSI_DRIVER_BIN`) cannot. */
  | 'driver-faults'
  /** The driver keeps a record of calls. */
  | 'driver-journal'
  /** Capabilities, topology and pools of the driver can be chosen. */
  | 'driver-settings'
  /** A process can be given a host name of its own, so that replicas have identities. */
  | 'host-names'
  /** A process can be given a wall clock of its own: ours are Node.js, which loads a module before a program. */
  | 'own-clocks'
  /** A process can be given mounts that only it sees: root may do that. */
  | 'private-mounts'
  /** Upstream's programs are there beside ours (`UPSTREAM_BIN`). */
  | 'both-implementations'
  /** It takes minutes: it runs with `--full`, or when it is asked for by its id. */
  | 'time';

export type Need = Capability | MachineNeed;

/** For programs of both implementations that take over from each other, under a driver that is slow at times. */
export const takeOverNeeds: readonly Need[] = [
  'both-implementations',
  'host-names',
  'driver-faults',
  'driver-journal',
  'driver-settings',
  'controller-manager',
];
