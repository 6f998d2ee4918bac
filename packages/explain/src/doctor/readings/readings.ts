// SPDX-License-Identifier: Apache-2.0
/** All that checks read. Each source is read when the first check needs it; large collections are reduced page by page. */
import {
  type CSIDriver,
  csiDrivers,
  type Pod,
  type StorageClass,
  storageClasses,
  type VolumeAttributesClass,
  volumeAttributesClasses,
} from '@csi-sidecars/runtime';
import { type VolumeSnapshotClass, volumeSnapshotClasses } from '@csi-sidecars/volume';
import { type CapacityFacts, capacitySource } from './capacities.ts';
import { type CrdFacts, crdSource } from './crds.ts';
import type { Workloads } from './drivers.ts';
import { type EventFacts, eventSource } from './events.ts';
import { type Grants, grantSource } from './grants.ts';
import { type Leading, leadingSource } from './leading.ts';
import { type NodeFacts, nodeSource, type Registration, registrationSource } from './nodes.ts';
import {
  type AttachmentFacts,
  attachmentSource,
  type ClaimFacts,
  claimSource,
  type ContentFacts,
  contentSource,
  type SnapshotFacts,
  snapshotSource,
  type VolumeFacts,
  volumeSource,
} from './objects.ts';
import { type Lacking, lackingSource } from './lacking.ts';
import { podSource, workloadSource } from './workloads.ts';
import { type ClassSecret, secretSource } from './secrets.ts';
import { type Gathering, listSource, type Read, type Scope, type Source, value } from './source.ts';
import type { Reader } from '../../cluster/reader.ts';

export interface Readings {
  readonly csiDrivers: readonly CSIDriver[];
  readonly registrations: readonly Registration[];
  readonly nodes: readonly NodeFacts[];
  readonly classes: readonly StorageClass[];
  readonly attributesClasses: readonly VolumeAttributesClass[];
  readonly snapshotClasses: readonly VolumeSnapshotClass[];
  readonly workloads: Workloads;
  /** Of the namespaces of drivers: those with sidecars. */
  readonly pods: readonly Pod[];
  readonly leading: readonly Leading[];
  readonly grants: Grants;
  readonly lacking: readonly Lacking[];
  readonly crds: readonly CrdFacts[];
  readonly volumes: readonly VolumeFacts[];
  readonly claims: readonly ClaimFacts[];
  readonly attachments: readonly AttachmentFacts[];
  readonly contents: readonly ContentFacts[];
  readonly snapshots: readonly SnapshotFacts[];
  readonly capacities: readonly CapacityFacts[];
  readonly secrets: readonly ClassSecret[];
  readonly events: readonly EventFacts[];
  /** `v1.37.2`; undefined: the server does not say. */
  readonly version: string | undefined;
}

export const sources: { readonly [K in keyof Readings]: Source<Readings[K]> } = {
  csiDrivers: listSource(csiDrivers),
  registrations: registrationSource,
  nodes: nodeSource,
  classes: listSource(storageClasses),
  attributesClasses: listSource(volumeAttributesClasses),
  snapshotClasses: listSource(volumeSnapshotClasses),
  workloads: workloadSource,
  pods: podSource,
  leading: leadingSource,
  grants: grantSource,
  lacking: lackingSource,
  crds: crdSource,
  volumes: volumeSource,
  claims: claimSource,
  attachments: attachmentSource,
  contents: contentSource,
  snapshots: snapshotSource,
  capacities: capacitySource,
  secrets: secretSource,
  events: eventSource,
  version: { rights: [], read: async ({ reader }) => value(await reader.version()) },
};

export function gathering(reader: Reader, scope: Scope): Gathering {
  const started = new Map<keyof Readings, Promise<Read<unknown>>>();
  const result: Gathering = {
    reader,
    scope,
    get<K extends keyof Readings>(name: K) {
      const found = started.get(name) ?? sources[name].read(result);
      started.set(name, found);
      return found as Promise<Read<Readings[K]>>;
    },
  };
  return result;
}
