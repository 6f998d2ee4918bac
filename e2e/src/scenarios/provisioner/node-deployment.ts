// SPDX-License-Identifier: Apache-2.0
/** P-33 to P-35 and P-37: a csi-provisioner beside the driver on each of three emulated nodes. */
import assert from 'node:assert/strict';
import { nodes, type PersistentVolumeClaim, persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { createCalls, deletedIds } from '../../driver/calls.ts';
import type { ScenarioContext } from '../context.ts';
import type { Scenario } from '../scenario.ts';
import { nodeOf, selectedNode, selectNode, startInstances } from './instances.ts';
import { createClaim, createClass, deleteClaim, eventsOf } from './steps.ts';

async function claimsOf(ctx: ScenarioContext): Promise<readonly PersistentVolumeClaim[]> {
  return (await ctx.api.list(persistentVolumeClaims, { namespace: ctx.namespace })).items;
}

/** Each claim has one volume, which the driver of its selected node has made; and later each is deleted there. */
async function checkAll(
  ctx: ScenarioContext,
  names: readonly string[],
  expected: ReadonlyMap<string, string> | undefined,
): Promise<void> {
  const claims = await ctx.eventually(
    'all claims are bound',
    async () => {
      const found = await claimsOf(ctx);
      return found.length === names.length && found.every(({ status }) => status?.phase === 'Bound')
        ? found
        : undefined;
    },
    240_000,
  );
  const volumes = new Map(
    (await ctx.api.list(persistentVolumes)).items.map((volume) => [volume.metadata?.name, volume]),
  );
  const calls = await createCalls(ctx.driver);
  assert.equal(calls.length, names.length, 'one call for each claim');
  assert.equal((await ctx.driver.control.volumes()).length, names.length);
  const madeOn = new Map(calls.map((call) => [call.request.name, call.nodeId]));
  for (const claim of claims) {
    const node = claim.metadata?.annotations?.[selectedNode];
    const volumeName = claim.spec?.volumeName ?? '';
    assert.equal(nodeOf(volumes.get(volumeName)), node);
    assert.equal(madeOn.get(volumeName), node);
    if (expected !== undefined)
      assert.equal(node, expected.get(claim.metadata?.name ?? ''), 'the node does not change');
  }
  await Promise.all(names.map((name) => deleteClaim(ctx, name)));
  await ctx.eventually('all volumes are gone', async () => (await ctx.driver.control.volumes()).length === 0, 240_000);
  assert.equal(new Set(await deletedIds(ctx.driver)).size, names.length);
  assert.equal((await deletedIds(ctx.driver)).length, names.length, 'one deletion for each volume');
  assert.deepEqual(
    (await eventsOf(ctx, 'ProvisioningFailed')).map(({ message }) => message),
    [],
  );
}

/** Creates the claim `claim`, and waits until the instance of the node works on it. Returns a function that reads the claim. */
async function claimedBy(
  ctx: ScenarioContext,
  node: string,
  className: string,
): Promise<() => Promise<PersistentVolumeClaim>> {
  await createClaim(ctx, className);
  await selectNode(ctx, 'claim', node);
  const read = () => ctx.api.get(persistentVolumeClaims, { namespace: ctx.namespace, name: 'claim' });
  await ctx.eventually('the claim is protected', async () =>
    (await read()).metadata?.finalizers?.some((name) => name.startsWith('provisioning-protection')),
  );
  return read;
}

const needs = ['driver-journal', 'driver-settings', 'host-names'] as const;

const repeatsDeletions = 'DeleteVolume is called more than once for some volumes';

export const nodeDeployment: readonly Scenario[] = [
  {
    id: 'P-33',
    title: 'node deployment, immediate binding: of three instances one makes each volume, on its node, and deletes it',
    needs,
    exclusive: ['cores'],
    upstream: repeatsDeletions,
    run: async (ctx) => {
      const { names: nodeNames } = await startInstances(ctx);
      const className = await createClass(ctx, { reclaimPolicy: 'Delete' });
      const names = Array.from({ length: ctx.many(300) }, (_, index) => `claim-${index}`);
      await Promise.all(names.map((name) => createClaim(ctx, className, { name })));
      await checkAll(ctx, names, undefined);
      const used = new Map<string | undefined, number>();
      for (const { nodeId } of await createCalls(ctx.driver)) used.set(nodeId, (used.get(nodeId) ?? 0) + 1);
      ctx.note(nodeNames.map((node) => `${node}: ${used.get(node) ?? 0}`).join(', '));
    },
  },
  {
    id: 'P-34',
    title:
      'node deployment, late binding: each volume is made where the pod of its claim is to run, and no claim is moved',
    needs,
    exclusive: ['cores'],
    upstream: repeatsDeletions,
    run: async (ctx) => {
      const { names: nodeNames } = await startInstances(ctx, { args: ['--node-deployment-immediate-binding=false'] });
      const storageClass = { reclaimPolicy: 'Delete', volumeBindingMode: 'WaitForFirstConsumer' };
      const className = await createClass(ctx, storageClass);
      const expected = new Map(
        Array.from(
          { length: ctx.many(300) },
          (_, index) => [`claim-${index}`, nodeNames[index % nodeNames.length]!] as const,
        ),
      );
      const names = [...expected.keys()];
      await Promise.all(names.map((name) => createClaim(ctx, className, { name })));
      await Promise.all(names.map((name) => selectNode(ctx, name, expected.get(name)!)));
      await checkAll(ctx, names, expected);
    },
  },
  {
    id: 'P-35',
    title: 'node deployment: the claim of an instance that was killed during its call waits for that node',
    needs: [...needs, 'driver-faults'],
    restarts: true,
    upstream: 'a restart forgets the call, and the volume of a deleted claim stays in the storage',
    run: async (ctx) => {
      const { names, programs } = await startInstances(ctx);
      const [node] = names;
      const className = await createClass(ctx, { reclaimPolicy: 'Delete', volumeBindingMode: 'WaitForFirstConsumer' });
      // Longer than the call's ten seconds, also where a busy machine notices its end late.
      const slow = { method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'delay', ms: 25_000 } } as const;
      await ctx.driver.control.addFault(slow);
      const read = await claimedBy(ctx, node, className);
      await programs.get(node)?.destroy();
      await deleteClaim(ctx);
      await ctx.consistently({
        forMs: 5_000,
        check: async () => assert.notEqual((await read()).metadata?.deletionTimestamp, undefined),
      });
      await programs.get(node)?.start();
      await ctx.eventually('the claim is gone', async () => (await claimsOf(ctx)).length === 0, 60_000);
      await ctx.eventually('nothing is left', async () => (await ctx.driver.control.volumes()).length === 0, 60_000);
    },
  },
  {
    id: 'P-37',
    title: 'node deployment: a Node that is away for a moment costs no volume',
    needs: [...needs, 'driver-faults'],
    restarts: true,
    upstream: 'a restart forgets the call, so the instance of the next node makes a second volume',
    run: async (ctx) => {
      const { names, programs } = await startInstances(ctx);
      const [node, next] = names;
      const className = await createClass(ctx, { reclaimPolicy: 'Delete', volumeBindingMode: 'WaitForFirstConsumer' });
      const lost = { method: 'CreateVolume', at: 'after', action: { kind: 'fail', code: 'DeadlineExceeded' } } as const;
      const fault = await ctx.driver.control.addFault(lost);
      const read = await claimedBy(ctx, node, className);
      await programs.get(node)?.destroy();
      await ctx.driver.control.removeFault(fault);
      const { metadata, ...others } = await ctx.api.get(nodes, { name: node });
      await ctx.api.delete(nodes, { name: node });
      await selectNode(ctx, 'claim', next);
      await ctx.consistently({
        forMs: 5_000,
        check: async () =>
          assert.deepEqual(new Set((await createCalls(ctx.driver)).map((call) => call.nodeId)), new Set([node])),
      });
      const { uid: _uid, resourceVersion: _version, ...kept } = metadata ?? {};
      await ctx.api.create(nodes, { ...others, metadata: kept });
      await programs.get(node)?.start();
      const volumeName = await ctx.eventually(
        'the claim is bound',
        async () => (await read()).spec?.volumeName,
        60_000,
      );
      const { items } = await ctx.api.list(persistentVolumes);
      assert.equal(nodeOf(items.find((volume) => volume.metadata?.name === volumeName)), node);
      assert.equal((await ctx.driver.control.volumes()).length, 1, 'there is one volume');
    },
  },
];
