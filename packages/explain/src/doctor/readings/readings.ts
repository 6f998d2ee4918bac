// SPDX-License-Identifier: Apache-2.0
/** All that checks read. Each source is read when the first check needs it; large collections are reduced page by page. */
import { csiDrivers, storageClasses, toError, volumeAttributesClasses } from '@csi-sidecars/runtime';
import { volumeSnapshotClasses } from '@csi-sidecars/volume';
import { admissionSource } from './admission.ts';
import { capacitySource } from './capacities.ts';
import { crdSource } from './crds.ts';
import { eventSource } from './events.ts';
import { grantSource } from './grants.ts';
import { healthGateSource } from './health-gate.ts';
import { leaderSource } from './leaders.ts';
import { leadingSource } from './leading.ts';
import { metadataServiceSource } from './metadata-services.ts';
import { nodeSource, registrationSource } from './nodes.ts';
import { attachmentSource, claimSource, contentSource, snapshotSource, volumeSource } from './objects.ts';
import { lackingSource } from './lacking.ts';
import { podSource, workloadSource } from './workloads.ts';
import { secretSource } from './secrets.ts';
import { type Gathering, listSource, type Read, type Scope, type Source, value } from './source.ts';
import { CredentialsError, type Reader } from '../../cluster/reader.ts';
import type { ViaPorts } from '../../leader-answer/ask.ts';
import type { Readings } from './facts.ts';

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
  leaders: leaderSource,
  crds: crdSource,
  admission: admissionSource,
  metadataServices: metadataServiceSource,
  healthGate: healthGateSource,
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

export function gathering(reader: Reader, scope: Scope, via?: ViaPorts): Gathering {
  const started = new Map<keyof Readings, Promise<Read<unknown>>>();
  const result: Gathering = {
    reader,
    scope,
    via,
    get<K extends keyof Readings>(name: K) {
      const found = started.get(name) ?? readSafely(name, result);
      started.set(name, found);
      return found as Promise<Read<Readings[K]>>;
    },
  };
  return result;
}

/** An object that no source has thought of makes one source unreadable, and does not end the command. */
async function readSafely<K extends keyof Readings>(name: K, from: Gathering): Promise<Read<Readings[K]>> {
  try {
    return await sources[name].read(from);
  } catch (error) {
    if (error instanceof CredentialsError) throw error;
    const notKnown = `what the objects mean (${toError(error).message})`;
    const missing = {
      verb: 'list',
      group: '',
      resource: name,
      namespace: undefined,
      because: 'failed',
      notKnown,
    } as const;
    return { kind: 'notRead', missing: [missing] };
  }
}
