// SPDX-License-Identifier: Apache-2.0
/** What a scenario may need: of the control plane, of the driver, of the machine. */
import type { Capability } from '../control-planes/control-plane.ts';

/** What the driver or the machine must offer, beside the control plane. */
export type WorldNeed =
  /** The driver can be told to fail, hang, crash; not so with a foreign one (`CSI_DRIVER_BIN`). */
  | 'driver-faults'
  /** The driver keeps a record of calls. */
  | 'driver-journal'
  /** Capabilities, topology and pools of the driver can be chosen. */
  | 'driver-settings'
  /** A process can be given a host name of its own, so that replicas have identities. */
  | 'host-names'
  /** A process can be given mounts that only it sees: root may do that. */
  | 'private-mounts'
  /** Upstream's programs are there beside ours (`UPSTREAM_BIN`). */
  | 'both-makes';

export type Need = Capability | WorldNeed;
