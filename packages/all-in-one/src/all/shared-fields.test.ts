// SPDX-License-Identifier: Apache-2.0
/** What the real controllers see of objects that they share, beside what each would see alone. */
import { fakeCsiChannel } from '@csi-sidecars/csi/testing';
import type { InformerOptions, KubeObject } from '@csi-sidecars/runtime';
import { silentLogger } from '@csi-sidecars/runtime';
import { unionOf, keepersOf, watchesOf } from '@csi-sidecars/runtime/internal';
import { resolveGates } from '@csi-sidecars/sidecar';
import { fakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { allCapabilities, attaching, capabilities, driverName, growing, waitingClaim } from '../../testing/run-all.ts';
import { allFlags, allGates, valuesOf } from './command-line.ts';
import { type SidecarName, sidecarNames } from './programs.ts';
import { sidecars } from './sidecars.ts';

const withTopology = {
  capabilities: [
    { service: { type: 'CONTROLLER_SERVICE' as const } },
    { service: { type: 'VOLUME_ACCESSIBILITY_CONSTRAINTS' as const } },
  ],
};

async function watchesBy(name: SidecarName): Promise<readonly InformerOptions<KubeObject>[]> {
  const host = fakeHost();
  const channel = fakeCsiChannel();
  channel.answer('/csi.v1.Identity/GetPluginCapabilities', withTopology);
  channel.answer(
    '/csi.v1.Controller/ControllerGetCapabilities',
    capabilities(...allCapabilities, 'MODIFY_VOLUME', 'CLONE_VOLUME', 'GET_VOLUME_HEALTH'),
  );
  const gates = resolveGates(allGates, {});
  if (gates.kind !== 'resolved') throw new Error(gates.message);
  const defaults = Object.fromEntries(Object.entries(allFlags).map(([flag, { defaultValue }]) => [flag, defaultValue]));
  const log = silentLogger;
  const { client } = await host.connectApi({ program: 'test', kubeconfig: '', master: '', qps: -1, burst: 1, log });
  const ports = { client, clock: host.clock, random: host.random };
  const stderr = host.openStderr(() => '');
  const { values } = valuesOf(name, defaults, new Set());
  const { assemble } = await sidecars[name].prepare({
    ...ports,
    withLimit: () => client,
    started: {
      kind: 'started',
      values,
      given: new Set(),
      gates: gates.enabled,
      positionals: [],
      givenGates: gates.given,
      log,
      stderr,
    },
    log,
    metrics: await host.openMetrics(),
    host,
    signal: new AbortController().signal,
    name: driverName,
    channel,
  });
  return watchesOf(ports, assemble);
}

const foreign = 'foreign.csi.example.com';
const text = (object: KubeObject | undefined): string => JSON.stringify(object);
const ours: readonly KubeObject[] = [
  waitingClaim(),
  ...growing(),
  ...attaching(),
  {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name: 'released',
      uid: 'uid-released',
      resourceVersion: '12',
      labels: { zone: 'a' },
      annotations: { 'pv.kubernetes.io/provisioned-by': driverName, other: 'x' },
      finalizers: ['kubernetes.io/pv-protection', `external-attacher/${driverName.replaceAll('.', '-')}`],
      deletionTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      persistentVolumeReclaimPolicy: 'Delete',
      storageClassName: 'fast',
      volumeMode: 'Filesystem',
      mountOptions: ['ro'],
      nodeAffinity: { required: { nodeSelectorTerms: [] } },
      claimRef: { kind: 'PersistentVolumeClaim', namespace: 'team', name: 'bound', uid: 'uid-bound' },
      csi: {
        driver: driverName,
        volumeHandle: 'volume-1',
        fsType: 'ext4',
        volumeAttributes: { a: 'b' },
        controllerExpandSecretRef: { name: 's', namespace: 'n' },
      },
    },
    status: { phase: 'Released' },
  } as KubeObject,
];
/** The same objects of another driver. */
const theirs = ours.map((object) => JSON.parse(text(object).replaceAll(driverName, foreign)) as KubeObject);

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}

/** Values that the second lacks. An empty text stands for a value that its reader does not need. */
function missing(wanted: unknown, found: unknown, path = ''): readonly string[] {
  if (wanted === undefined || wanted === '') return [];
  if (typeof wanted !== 'object' || wanted === null) {
    return wanted === found ? [] : [`${path}: ${JSON.stringify(wanted)} is ${JSON.stringify(found)}`];
  }
  if (typeof found !== 'object' || found === null) return [`${path} is ${JSON.stringify(found)}`];
  return Object.entries(wanted).flatMap(([name, value]) =>
    missing(value, (found as Readonly<Record<string, unknown>>)[name], `${path}.${name}`),
  );
}

it('given objects of this driver and of others, then each controller sees those that it would see alone, with all fields', async () => {
  const all = (await Promise.all(sidecarNames.map(watchesBy))).flat();
  const byKind = Map.groupBy(all, ({ resource }) => resource.kind);
  const shared = [...byKind].filter(([, readers]) => new Set(readers.map(({ transform }) => transform?.id)).size > 1);
  expect(shared.map(([kind]) => kind).toSorted()).toEqual([
    'CSINode',
    'PersistentVolume',
    'PersistentVolumeClaim',
    'VolumeAttachment',
  ]);
  let compared = 0;
  for (const [kind, readers] of shared) {
    const transforms = [...new Map(readers.map(({ transform }) => [transform?.id, transform])).values()];
    for (const object of [...ours, ...theirs].filter((each) => each.kind === kind)) {
      const alone = transforms.map((transform) =>
        transform === undefined ? object : transform.apply(deepFreeze(structuredClone(object))),
      );
      const union = unionOf(transforms).apply(structuredClone(object));
      expect(alone.map((each) => each !== undefined)).toEqual(
        transforms.map((_, place) => union !== undefined && (keepersOf(union) & (1 << place)) !== 0),
      );
      for (const each of alone) {
        if (each === undefined) continue;
        compared += 1;
        expect(missing(each, union)).toEqual([]);
      }
      // Nothing that none of them keeps, beside the empty lists that one of them makes.
      const complete = { ...object, metadata: { annotations: {}, finalizers: [], ...object.metadata } };
      expect(missing(union, complete)).toEqual([]);
    }
  }
  expect(compared).toBeGreaterThan(10);
});
