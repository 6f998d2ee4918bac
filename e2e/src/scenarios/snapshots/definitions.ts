// SPDX-License-Identifier: Apache-2.0
/** S-19, S-20: the definitions of the snapshot API come late, or in part. */
import assert from 'node:assert/strict';
import { ignoreNotFound, type Resource } from '@csi-sidecars/runtime';
import {
  definitions,
  installSnapshotApi,
  snapshotDefinitions,
  type SnapshotGroup,
} from '../../snapshot-api/definitions.ts';
import type { ScenarioContext } from '../context.ts';
import { createClaim, createClass, untilBound } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotClass,
  deleteSnapshot,
  installDefinitions,
  startSnapshotController,
  startSnapshotter,
  untilNoSnapshots,
  untilReady,
} from './steps.ts';

const needs = ['driver-journal', 'driver-settings'] as const;
const [single, group] = ['snapshot.storage.k8s.io', 'groupsnapshot.storage.k8s.io'] as const;

/** They are there again when the scenario ends. */
export async function removeDefinitions(ctx: ScenarioContext, ...groups: readonly SnapshotGroup[]): Promise<void> {
  // The scenarios that follow find them there.
  ctx.cleanUp.defer(() => installDefinitions(ctx));
  for (const { metadata, spec } of snapshotDefinitions(groups)) {
    const ref = { name: metadata?.name ?? '' };
    await dropFinalizers(ctx, {
      group: spec.group,
      version: 'v1',
      kind: spec.names.kind,
      plural: spec.names.plural,
      namespaced: spec.scope === 'Namespaced',
    });
    await ctx.api.delete(definitions, ref).catch(ignoreNotFound);
    await ctx.eventually(
      `${ref.name} is gone`,
      async () => (await ctx.api.get(definitions, ref).catch(ignoreNotFound)) === undefined,
    );
  }
}

/** A scenario that failed may have left objects that nothing else releases. */
async function dropFinalizers({ api }: ScenarioContext, resource: Resource): Promise<void> {
  const list = await api.list(resource).catch(ignoreNotFound);
  for (const { metadata } of list?.items ?? []) {
    if (metadata?.finalizers === undefined) continue;
    const ref = { namespace: metadata.namespace, name: metadata.name ?? '' };
    const patch = { type: 'merge', body: { metadata: { finalizers: null } } } as const;
    await api.patch({ resource, ref }, patch).catch(ignoreNotFound);
  }
}

async function takesOne(ctx: ScenarioContext): Promise<void> {
  await ctx.startDriver();
  await ctx.startProvisioner();
  await startSnapshotter(ctx);
  await createClaim(ctx, await createClass(ctx));
  await untilBound(ctx);
  const volumeSnapshotClassName = await createSnapshotClass(ctx);
  await createSnapshot(ctx, { volumeSnapshotClassName });
  await untilReady(ctx);
  await deleteSnapshot(ctx);
  await untilNoSnapshots(ctx);
}

export const snapshotDefinitionScenarios: readonly Scenario[] = [
  {
    id: 'S-19',
    title: 'snapshot-controller waits for the definitions; without them it ends with 1 when its time is over',
    needs,
    exclusive: ['snapshot-controller', 'snapshot-definitions'],
    restarts: true,
    run: async (ctx) => {
      await removeDefinitions(ctx, single, group);
      // A process outlives its limit by a restart, so that the limits are apart.
      await ctx.startSidecar('snapshot-controller', { args: ['--retry-crd-interval-max=2s'] });
      const [controller] = ctx.sidecars;
      const exit = await ctx.eventually('the program ends', () => controller?.exits[0]);
      assert.equal(exit.code, 1);
      await controller?.stop();

      await startSnapshotController(ctx, ['--retry-crd-interval-max=60s']);
      const waiting = ctx.sidecars.at(-1);
      await ctx.consistently({
        forMs: 3_000,
        check: () => {
          assert.deepEqual(waiting?.exits, []);
          return Promise.resolve();
        },
      });
      await installDefinitions(ctx);
      await takesOne(ctx);
      assert.deepEqual(waiting?.exits, []);
    },
  },
  {
    id: 'S-20',
    title: 'without the definitions of groups both programs run, and single snapshots work',
    needs,
    exclusive: ['snapshot-controller', 'snapshot-definitions'],
    run: async (ctx) => {
      await removeDefinitions(ctx, group);
      await installSnapshotApi(ctx.api, { groups: [single], pass: (ms) => ctx.testRun.clock.sleep(ms, ctx.signal) });
      await startSnapshotController(ctx, ['--retry-crd-interval-max=2s']);
      await takesOne(ctx);
    },
  },
];
