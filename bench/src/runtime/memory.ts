// SPDX-License-Identifier: Apache-2.0
/**
 * M1: heap bytes per cached object. Run as `node --expose-gc memory.ts <kind> <parsed|cached|projected>`: what JSON.parse
 * yields, what the informer keeps of it, and what it keeps of a projection.
 */
import {
  createInformer,
  type KubeObject,
  silentLogger,
  systemClock,
  systemRandom,
  type Transform,
} from '@csi-sidecars/runtime';
import { feed, resources } from './collections.ts';
import { anObject, type Kind } from './objects.ts';
import { type Row, tell } from './report.ts';

const count = 20_000;
const budgets: Readonly<Record<string, string>> = {
  'PersistentVolume cached': '<= 1850',
  'PersistentVolumeClaim cached': '<= 1200',
  'VolumeAttachment cached': '<= 800',
  'Pod projected': '<= 500',
};

const [kind, variant] = process.argv.slice(2) as [Kind, 'parsed' | 'cached' | 'projected'];

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

async function cached(): Promise<object> {
  const informer = createInformer(
    { client: feed({ kind, count, changes: 0 }), clock: systemClock(), random: systemRandom(), logger: silentLogger },
    { resource: resources[kind], ...(variant === 'projected' && { transform: projection }) },
  );
  const never = new AbortController().signal;
  void informer.run(never);
  await informer.whenSynced(never);
  return informer;
}

const before = heapBytes();
const kept: unknown =
  variant === 'parsed'
    ? Array.from({ length: count }, (_, n) => JSON.parse(JSON.stringify(anObject(kind, n, n + 1))) as unknown)
    : await cached();
const after = heapBytes();
const budget = budgets[`${kind} ${variant}`];
const row: Row = {
  measure: `M1 ${kind}, ${variant}`,
  value: (after - before) / count,
  unit: 'B/object',
  ...(budget && { budget }),
};
tell([row]);
process.exitCode = kept === undefined ? 1 : 0;
setImmediate(() => process.exit());
