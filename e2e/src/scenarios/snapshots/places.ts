// SPDX-License-Identifier: Apache-2.0
/** S-31, S-32: the alpha gate VolumeSnapshotTopology, with definitions that have its two fields, and with those that are released. */
import assert from 'node:assert/strict';
import { type KubeObject, persistentVolumeClaims } from '@csi-sidecars/runtime';
import { allCapabilities } from '@csi-sidecars/test-driver';
import {
  snapshotFinalizers,
  type VolumeSnapshotClass,
  volumeSnapshotClasses,
  volumeSnapshotContents,
} from '@csi-sidecars/volume';
import { createCalls } from '../../driver/calls.ts';
import { definitions } from '../../snapshot-api/definitions.ts';
import type { ScenarioContext } from '../context.ts';
import { createClaim, createClass, untilBound, untilEvent } from '../provisioner/steps.ts';
import { type TwoZones, twoZones, zoneKey } from '../provisioner/zones.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotCalls,
  createSnapshotClass,
  deleteSnapshot,
  fromSnapshot,
  installDefinitions,
  quickRetries,
  snapshotOf,
  startSnapshotController,
  startSnapshotter,
  untilNoSnapshots,
  untilReady,
} from './steps.ts';

const needs = ['admission', 'driver-journal', 'driver-settings'] as const;
const gate = '--feature-gates=VolumeSnapshotTopology=true';
const capabilities = {
  ...allCapabilities,
  plugin: [...allCapabilities.plugin, 'SNAPSHOT_ACCESSIBILITY_CONSTRAINTS' as const],
};

const inZones = (...values: readonly string[]) => [{ matchLabelExpressions: [{ key: zoneKey, values }] }];
const segments = (zone: string): object => ({ segments: { [zoneKey]: zone } });

/** A list of topology selector terms. */
const terms = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      matchLabelExpressions: {
        type: 'array',
        items: {
          type: 'object',
          required: ['key', 'values'],
          properties: { key: { type: 'string' }, values: { type: 'array', items: { type: 'string' } } },
        },
      },
    },
  },
};

/** A definition, as far as it is changed here. */
interface Schema {
  properties: Record<string, Schema | object>;
}
interface Definition extends KubeObject {
  readonly spec: {
    readonly versions: readonly { readonly name: string; readonly schema: { openAPIV3Schema: Schema } }[];
  };
}

/** Adds a field to v1 of a kind; the definition is as before when the scenario ends. */
async function addField(ctx: ScenarioContext, plural: string, path: readonly string[]): Promise<void> {
  const ref = { name: `${plural}.snapshot.storage.k8s.io` };
  const before = (await ctx.api.get(definitions, ref)) as unknown as Definition;
  const versions = structuredClone(before.spec.versions);
  let schema = versions.find(({ name }) => name === 'v1')?.schema.openAPIV3Schema;
  for (const name of path.slice(0, -1)) schema = schema?.properties[name] as Schema | undefined;
  assert.ok(schema !== undefined, `${plural} has ${path.join('.')}`);
  schema.properties[path.at(-1) ?? ''] = terms;
  const patch = async (wanted: Definition['spec']['versions']): Promise<void> => {
    await ctx.api.patch({ resource: definitions, ref }, { type: 'merge', body: { spec: { versions: wanted } } });
  };
  ctx.cleanUp.defer(() => patch(before.spec.versions));
  await patch(versions);
}

/** Both definitions have the fields of KEP-5943, and the API server keeps them. */
async function addFields(ctx: ScenarioContext): Promise<void> {
  await addField(ctx, 'volumesnapshotclasses', ['allowedTopologies']);
  await addField(ctx, 'volumesnapshotcontents', ['spec', 'nodeAffinity']);
  const content = {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: { name: ctx.nameOf('probe') },
    spec: {
      driver: 'none.e2e.csi.test',
      deletionPolicy: 'Retain' as const,
      source: { snapshotHandle: 'none' },
      volumeSnapshotRef: { namespace: ctx.namespace, name: 'none' },
      nodeAffinity: inZones('a'),
    },
  };
  const snapshotClass: VolumeSnapshotClass = {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    metadata: { name: ctx.nameOf('probe') },
    driver: 'none.e2e.csi.test',
    deletionPolicy: 'Retain',
    allowedTopologies: inZones('a'),
  };
  await ctx.eventually('the API server keeps the fields', async () => {
    const isKept = [
      (await ctx.api.create(volumeSnapshotContents, content)).spec?.nodeAffinity !== undefined,
      (await ctx.api.create(volumeSnapshotClasses, snapshotClass)).allowedTopologies !== undefined,
    ];
    await ctx.remove(volumeSnapshotContents, content.metadata.name);
    await ctx.remove(volumeSnapshotClasses, snapshotClass.metadata?.name ?? '');
    return isKept.every(Boolean);
  });
}

/** A driver with two zones that names the places of its snapshots, all programs with the gate, and the claim `claim` in zone a. */
async function readyInZones(ctx: ScenarioContext): Promise<TwoZones> {
  const zones = await twoZones(ctx);
  await ctx.startDriver({ settings: { nodes: zones.nodes, capabilities } });
  await ctx.startProvisioner({ args: [...quickRetries, gate] });
  await startSnapshotter(ctx, [gate]);
  await startSnapshotController(ctx, [gate]);
  await createClaim(ctx, await createClass(ctx, { allowedTopologies: inZones(zones.a) }));
  await untilBound(ctx);
  return zones;
}

export const snapshotPlaces: readonly Scenario[] = [
  {
    id: 'S-31',
    title:
      'alpha: a snapshot in zone a names zone a, is restored there by a class that binds immediately, and not by a class of zone b',
    needs,
    exclusive: ['snapshot-controller', 'snapshot-definitions'],
    upstream: 'has no release with the gate',
    run: async (ctx) => {
      await installDefinitions(ctx);
      await addFields(ctx);
      const { a, b } = await readyInZones(ctx);
      const volumeSnapshotClassName = await createSnapshotClass(ctx, { allowedTopologies: inZones(a) });
      await createSnapshot(ctx, { volumeSnapshotClassName });
      const { content } = await untilReady(ctx);
      assert.deepEqual(content.spec?.nodeAffinity, inZones(a));
      const [cut] = await createSnapshotCalls(ctx);
      const { requisite = [], preferred = [] } = cut?.request.accessibility_requirements ?? {};
      assert.deepEqual([requisite, preferred], [[segments(a)], [segments(a)]]);

      // The class restricts nothing.
      await createClaim(ctx, await createClass(ctx, {}, 'anywhere'), { name: 'restored', spec: fromSnapshot('snap') });
      const { volume } = await untilBound(ctx, 'restored');
      const selected = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms;
      assert.deepEqual(selected, [{ matchExpressions: [{ key: zoneKey, operator: 'In', values: [a] }] }]);
      const calls = await createCalls(ctx.driver);
      assert.deepEqual(calls.at(-1)?.request.accessibility_requirements?.requisite, [segments(a)]);

      const elsewhere = await createClass(ctx, { allowedTopologies: inZones(b) }, 'elsewhere');
      await createClaim(ctx, elsewhere, { name: 'refused', spec: fromSnapshot('snap') });
      await untilEvent(
        ctx,
        'ProvisioningFailed',
        `no compatible topology: snapshot snap NodeAffinity does not intersect StorageClass ${elsewhere} AllowedTopologies`,
      );
      assert.equal((await createCalls(ctx.driver)).length, calls.length);

      // The administrator knows better: the places of a content that is ready are his.
      const ref = { name: content.metadata?.name ?? '' };
      const body = { spec: { nodeAffinity: null } };
      await ctx.api.patch({ resource: volumeSnapshotContents, ref }, { type: 'merge', body });
      // The driver does not copy snapshots, so it is called, and refuses.
      await untilEvent(ctx, 'ProvisioningFailed', 'cannot be used in the requested topology');
      await ctx.remove(persistentVolumeClaims, 'refused');
      // A call for the claim may still run. A snapshot that is deleted meanwhile leaves its outcome open, and the claim waits.
      await ctx.eventually('no claim needs the snapshot', async () => {
        const { metadata } = await snapshotOf(ctx);
        return metadata?.finalizers?.includes(snapshotFinalizers.restored) !== true;
      });

      await deleteSnapshot(ctx);
      await untilNoSnapshots(ctx);
    },
  },
  {
    id: 'S-32',
    title:
      'alpha: with the released definitions, which lack the fields, and the gate on, snapshots are ready and can be restored',
    needs,
    exclusive: ['snapshot-controller'],
    upstream: 'has no release with the gate',
    run: async (ctx) => {
      await installDefinitions(ctx);
      const { a } = await readyInZones(ctx);
      const volumeSnapshotClassName = await createSnapshotClass(ctx, { allowedTopologies: inZones(a) });
      for (const name of ['snap', 'second']) {
        await createSnapshot(ctx, { name, volumeSnapshotClassName });
        const { content } = await untilReady(ctx, name);
        assert.equal(content.spec?.nodeAffinity, undefined);
      }
      const cuts = await createSnapshotCalls(ctx);
      assert.deepEqual(
        cuts.map(({ request }) => request.accessibility_requirements ?? null),
        [null, null],
      );
      const only = await createClass(ctx, { allowedTopologies: inZones(a) }, 'only');
      await createClaim(ctx, only, { name: 'restored', spec: fromSnapshot('snap') });
      await untilBound(ctx, 'restored');
      for (const name of ['snap', 'second']) await deleteSnapshot(ctx, name);
      await untilNoSnapshots(ctx);
    },
  },
];
