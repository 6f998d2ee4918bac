// SPDX-License-Identifier: Apache-2.0
/** All checks, in the order of the page `docs/reference/doctor.md`. Ids are never used again. */
import type { Check } from '../check.ts';
import { capacityChecks } from './capacity.ts';
import { capacityUpkeepChecks } from './capacity-upkeep.ts';
import { classChecks } from './classes.ts';
import { crdChecks } from './crds.ts';
import { containerChecks } from './driver-containers.ts';
import { driverFieldChecks, nodeFieldChecks } from './driver-fields.ts';
import { driverChecks } from './driver-objects.ts';
import { groupCrdChecks } from './group-crds.ts';
import { leaseHolderChecks } from './lease-holders.ts';
import { capabilityChecks } from './leaders-say.ts';
import { leaseChecks } from './leases.ts';
import { loadAndClockChecks } from './load-and-clock.ts';
import { healthChecks } from './health.ts';
import { goneNodeChecks } from './gone-nodes.ts';
import { metadataChecks } from './metadata.ts';
import { nodeRightsChecks } from './node-rights.ts';
import { nodeChecks } from './nodes.ts';
import { overloadChecks } from './overload.ts';
import { populatorChecks } from './populators.ts';
import { programChecks } from './programs.ts';
import { finalizerChecks } from './provisioning-finalizers.ts';
import { rightsChecks } from './rights.ts';
import { snapshotChecks } from './snapshots.ts';
import { stuckChecks } from './stuck.ts';
import { timeoutChecks } from './timeouts.ts';
import { topologyChecks } from './topology.ts';
import { skewChecks, versionChecks } from './versions.ts';
import type { Part } from '../ids.ts';

export const partTitles: Readonly<Record<Part, string>> = {
  rights: 'Rights',
  driver: 'Driver objects and containers',
  lease: 'Leases',
  pod: 'Programs',
  crd: 'Definitions of the snapshot kinds',
  topo: 'Topology',
  class: 'Classes and secrets',
  snap: 'Snapshots',
  cap: 'Capacity',
  node: 'Nodes',
  stuck: 'Stuck objects',
  pop: 'Volume populators',
  meta: 'Snapshot metadata',
  health: 'Health of volumes',
  load: 'Load',
  clock: 'Clocks',
};

export const allChecks: readonly Check[] = [
  ...rightsChecks,
  ...nodeRightsChecks,
  ...driverChecks,
  ...driverFieldChecks,
  ...containerChecks,
  ...timeoutChecks,
  ...capabilityChecks,
  ...leaseChecks,
  ...leaseHolderChecks,
  ...programChecks,
  ...versionChecks,
  ...crdChecks,
  ...groupCrdChecks,
  ...topologyChecks,
  ...classChecks,
  ...snapshotChecks,
  ...capacityChecks,
  ...capacityUpkeepChecks,
  ...nodeChecks,
  ...goneNodeChecks,
  ...skewChecks,
  ...nodeFieldChecks,
  ...stuckChecks,
  ...finalizerChecks,
  ...populatorChecks,
  ...metadataChecks,
  ...healthChecks,
  ...loadAndClockChecks,
  ...overloadChecks,
];
