// SPDX-License-Identifier: Apache-2.0
/**
 * M1: heap bytes per cached object, including its key and its share of the cache. Run as `node --expose-gc memory.ts <kind>
 * <cached|projected>`: for whole objects, and for a projection.
 */
import { type KubeObject, silentLogger, systemClock, systemRandom, type Transform } from '@csi-sidecars/runtime';
import { type Informer } from '@csi-sidecars/runtime';
import { createInformer } from '@csi-sidecars/runtime/internal';
import { feed, resources } from './collections.ts';
import type { Kind } from './objects.ts';
import { type Budget, type Row, reportRows } from './report.ts';

const count = 20_000;
const budgets: Readonly<Record<string, Budget>> = {
  'PersistentVolume cached': { atMost: 1850 },
  'PersistentVolumeClaim cached': { atMost: 1200 },
  'VolumeAttachment cached': { atMost: 800 },
  'Pod projected': { atMost: 500 },
};

const [kind, variant] = process.argv.slice(2) as [Kind, 'cached' | 'projected'];

interface PodParts {
  readonly spec?: {
    readonly nodeName?: string;
    readonly volumes?: readonly { readonly name: string; readonly persistentVolumeClaim?: object }[];
  };
  readonly status?: { readonly phase?: string };
}
const projection: Transform<KubeObject> = {
  id: 'bench',
  apply: (object) => {
    const { metadata } = object;
    const { spec, status } = object as PodParts;
    return {
      kind: object.kind,
      apiVersion: object.apiVersion,
      metadata: {
        namespace: metadata?.namespace,
        name: metadata?.name,
        uid: metadata?.uid,
        resourceVersion: metadata?.resourceVersion,
      },
      spec: {
        nodeName: spec?.nodeName,
        volumes: (spec?.volumes ?? []).filter((volume) => volume.persistentVolumeClaim !== undefined).slice(),
      },
      status: { phase: status?.phase },
    } as KubeObject;
  },
};

function heapBytes(): number {
  for (let round = 0; round < 4; round += 1) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

async function synced(objects: number): Promise<Informer<KubeObject>> {
  const informer = createInformer(
    {
      client: feed({ kind, count: objects, changes: 0 }),
      clock: systemClock(),
      random: systemRandom(),
      logger: silentLogger,
    },
    { resource: resources[kind], ...(variant === 'projected' && { transform: projection }) },
  );
  const never = new AbortController().signal;
  void informer.run(never);
  await informer.whenSynced(never);
  return informer;
}

// Another informer of that size runs first, so that compiled code is not counted.
const first = await synced(count);
const before = heapBytes();
const kept = await synced(count);
const after = heapBytes();
const budget = budgets[`${kind} ${variant}`];
const row: Row = {
  measure: `M1 ${kind}, ${variant}`,
  value: (after - before) / count,
  unit: 'B/object',
  ...(budget && { budget }),
};
reportRows([row]);
if (first.lister.size === 0 || kept.lister.size !== count) process.exitCode = 1;
setImmediate(() => process.exit());
