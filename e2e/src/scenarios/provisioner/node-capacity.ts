// SPDX-License-Identifier: Apache-2.0
/** C-05 to C-08: instances of csi-provisioner on three nodes that publish the capacity of their node, which is that of a pool of the driver. */
import assert from 'node:assert/strict';
import {
  type CSIStorageCapacity,
  csiStorageCapacities,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
} from '@csi-sidecars/runtime';
import { callsOf, createCalls } from '../../driver/calls.ts';
import type { ScenarioContext } from '../context.ts';
import { aPod } from '../objects.ts';
import { ownRequests } from '../own-requests.ts';
import type { Scenario } from '../scenario.ts';
import { createPodOf, nodeKey, nodeOf, podNameOf, selectedNode, selectNode, startInstances } from './instances.ts';
import { createClaim, createClass, deleteClaim, untilBound, untilEvent } from './steps.ts';
import { onNodes, untilScheduled, waitForPod } from './zones.ts';

const needs = ['driver-journal', 'driver-settings', 'host-names'] as const;
const late = { ...waitForPod, reclaimPolicy: 'Delete' } as const;

const sized = (storage: string) => ({ spec: { resources: { requests: { storage } } } });

async function objectsOf({ api, namespace }: ScenarioContext): Promise<readonly CSIStorageCapacity[]> {
  return (await api.list(csiStorageCapacities, { namespace })).items;
}

/** Until there are exactly these objects: the published size by the name of the node. */
async function untilPublished(
  ctx: ScenarioContext,
  wanted: Readonly<Record<string, string>>,
): Promise<readonly CSIStorageCapacity[]> {
  const lines = Object.entries(wanted).map(([node, size]) => `${node}=${size}`);
  const expected = lines.toSorted().join(' ');
  return await ctx.eventually(`capacity is ${expected}`, async () => {
    const objects = await objectsOf(ctx);
    const found = objects.map(({ nodeTopology, capacity }) => `${nodeTopology?.matchLabels?.[nodeKey]}=${capacity}`);
    return found.toSorted().join(' ') === expected ? objects : undefined;
  });
}

async function selectedNodeOf({ api, namespace }: ScenarioContext, name = 'claim'): Promise<string | undefined> {
  const { metadata } = await api.get(persistentVolumeClaims, { namespace, name });
  return metadata?.annotations?.[selectedNode];
}

/** The answers to updates of claims by the programs under test: codes, sorted. */
function claimUpdates(ctx: ScenarioContext): readonly number[] {
  return ownRequests(ctx)
    .filter(({ verb, resource }) => verb === 'update' && resource === 'persistentvolumeclaims')
    .map(({ code }) => code)
    .toSorted((left, right) => left - right);
}

export const nodeCapacity: readonly Scenario[] = [
  {
    id: 'C-05',
    title:
      'node deployment: each instance publishes its node, under its name and owned by its Pod; of three that want a claim at the same time one makes it',
    needs: [...needs, 'driver-faults', 'audit'],
    run: async (ctx) => {
      const { names } = await startInstances(ctx, { capacity: 'published', gib: [10, 20, 30] });
      const [a, b, c] = names;
      const published = await createClass(ctx, late, 'late');
      const objects = await untilPublished(ctx, { [a]: '10Gi', [b]: '20Gi', [c]: '30Gi' });
      for (const { metadata, nodeTopology, storageClassName, maximumVolumeSize, capacity } of objects) {
        const node = nodeTopology?.matchLabels?.[nodeKey] ?? '';
        const pod = await ctx.api.get(pods, { namespace: ctx.namespace, name: podNameOf(node) });
        assert.deepEqual(metadata?.labels, {
          'csi.storage.k8s.io/drivername': ctx.driverName,
          'csi.storage.k8s.io/managed-by': `external-provisioner-${node}`,
        });
        const { name, uid } = pod.metadata ?? {};
        assert.deepEqual(metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Pod', name, uid, controller: true }]);
        assert.match(metadata.name ?? '', /^csisc-/);
        assert.deepEqual([nodeTopology, storageClassName], [{ matchLabels: { [nodeKey]: node } }, published]);
        assert.equal(maximumVolumeSize, capacity);
      }

      // All of them ask before one of them can have written: the first wait is at most 500 ms.
      const slow = { kind: 'delay', ms: 1500 } as const;
      const fault = await ctx.driver.control.addFault({ method: 'GetCapacity', at: 'before', action: slow });
      const className = await createClass(ctx, { reclaimPolicy: 'Delete' }, 'now');
      await createClaim(ctx, className, sized('5Gi'));
      const { volume } = await untilBound(ctx, 'claim', 60_000);
      await ctx.driver.control.removeFault(fault);
      const owner = await selectedNodeOf(ctx);
      const questions = (await callsOf(ctx.driver, '/csi.v1.Controller/GetCapacity')).filter(
        ({ request }) => request.volume_capabilities.length > 0,
      );
      assert.deepEqual(questions.map(({ nodeId }) => nodeId).toSorted(), [...names]);
      assert.deepEqual(
        (await createCalls(ctx.driver)).map(({ nodeId }) => nodeId),
        [owner],
        'one instance makes the volume',
      );
      assert.equal(nodeOf(volume), owner);
      await ctx.eventually('the space that the volume took is published', async () =>
        (await objectsOf(ctx)).find(
          ({ nodeTopology, capacity }) =>
            nodeTopology?.matchLabels?.[nodeKey] === owner && ['5Gi', '15Gi', '25Gi'].includes(capacity ?? ''),
        ),
      );
      const answers = claimUpdates(ctx);
      assert.equal(answers.filter((code) => code === 200).length, 1, `the claim is taken once: ${answers.join()}`);
      assert.deepEqual(
        answers.filter((code) => code !== 200 && code !== 409),
        [],
      );
      ctx.note(`${answers.filter((code) => code === 409).length} conflicts`);
    },
  },
  {
    id: 'C-06',
    title:
      'node deployment, late binding: the instance of a node that is full gives the claim back, and no other takes it by itself',
    needs: [...needs, 'audit'],
    run: async (ctx) => {
      const { names } = await startInstances(ctx, { capacity: 'published', gib: [1, 10, 10] });
      const [full, roomy] = names;
      const className = await createClass(ctx, late);
      await createClaim(ctx, className, sized('5Gi'));
      await selectNode(ctx, 'claim', full);
      await untilEvent(ctx, 'ProvisioningFailed', 'ResourceExhausted');
      await ctx.eventually('no node is selected', async () => (await selectedNodeOf(ctx)) === undefined);
      const callers = async () => (await createCalls(ctx.driver)).map(({ nodeId }) => nodeId);
      await ctx.consistently({
        forMs: 4000,
        check: async () => {
          assert.equal(await selectedNodeOf(ctx), undefined, 'a scheduler has to choose');
          assert.deepEqual(await callers(), [full]);
        },
      });
      assert.deepEqual(claimUpdates(ctx), [200], 'one write removes the annotation');

      await selectNode(ctx, 'claim', roomy);
      const { volume } = await untilBound(ctx);
      assert.deepEqual([nodeOf(volume), await callers()], [roomy, [full, roomy]]);
      await untilPublished(ctx, { [full]: '1Gi', [roomy]: '5Gi', [names[2]]: '10Gi' });
    },
  },
  {
    id: 'C-07',
    title:
      'node deployment: the scheduler chooses the node whose instance publishes enough space, and a pod that fits nowhere waits until space is freed',
    needs: ['scheduler', ...needs],
    run: async (ctx) => {
      const { names } = await startInstances(ctx, {
        capacity: 'published',
        gib: [1, 10, 2],
        csiDriver: { storageCapacity: true },
      });
      const [a, b, c] = names;
      const className = await createClass(ctx, late);
      await untilPublished(ctx, { [a]: '1Gi', [b]: '10Gi', [c]: '2Gi' });

      await createClaim(ctx, className, sized('6Gi'));
      await ctx.create(pods, aPod('pod', 'claim', onNodes(names)));
      assert.equal(await untilScheduled(ctx, 'pod'), b, 'only this node has room');
      const { volume } = await untilBound(ctx);
      assert.equal(nodeOf(volume), b);
      await untilPublished(ctx, { [a]: '1Gi', [b]: '4Gi', [c]: '2Gi' });

      await createClaim(ctx, className, { name: 'second', ...sized('8Gi') });
      await ctx.create(pods, aPod('second', 'second', onNodes(names)));
      await untilEvent(ctx, 'FailedScheduling', /did not have enough free storage|didn't match the pod's volumes/);
      assert.equal((await createCalls(ctx.driver)).length, 1, 'no instance was asked for a volume that fits nowhere');

      const { namespace } = ctx;
      await ctx.api.delete(pods, { namespace, name: 'pod' }, { gracePeriodSeconds: 0 });
      await deleteClaim(ctx);
      assert.equal(await untilScheduled(ctx, 'second'), b);
      const { claim } = await untilBound(ctx, 'second', 60_000);
      assert.equal(nodeOf(await ctx.api.get(persistentVolumes, { name: claim.spec?.volumeName ?? '' })), b);
      assert.deepEqual(
        (await createCalls(ctx.driver)).map(({ nodeId }) => nodeId),
        [b, b],
      );
      await untilPublished(ctx, { [a]: '1Gi', [b]: '2Gi', [c]: '2Gi' });
    },
  },
  {
    id: 'C-08',
    title:
      'node deployment: the next Pod of a node takes over the objects of the one before, and objects of other nodes are not touched',
    needs,
    restarts: true,
    run: async (ctx) => {
      const { names, programs, startOn } = await startInstances(ctx, { capacity: 'published', gib: [10, 20, 30] });
      const [a, b, c] = names;
      await createClass(ctx, late);
      const sizes = { [a]: '10Gi', [b]: '20Gi', [c]: '30Gi' };
      const before = await untilPublished(ctx, sizes);
      const others = (objects: readonly CSIStorageCapacity[]): readonly string[] =>
        objects
          .filter(({ nodeTopology }) => nodeTopology?.matchLabels?.[nodeKey] !== b)
          .map(({ metadata }) => `${metadata?.uid} ${metadata?.resourceVersion}`)
          .toSorted();

      await programs.get(b)?.stop();
      // As a DaemonSet does: the Pod goes before the next one comes. With a garbage collector its object may go too.
      await ctx.api.delete(pods, { namespace: ctx.namespace, name: podNameOf(b) }, { gracePeriodSeconds: 0 });
      const pod = await createPodOf(ctx, 'next-pod');
      await startOn(b, 'next-pod');
      await ctx.eventually('the objects of the node are owned by the next Pod', async () => {
        const objects = await objectsOf(ctx);
        const mine = objects.filter(({ nodeTopology }) => nodeTopology?.matchLabels?.[nodeKey] === b);
        const owners = mine.flatMap(({ metadata }) => metadata?.ownerReferences?.map(({ uid }) => uid) ?? []);
        return owners.join() === pod.metadata?.uid ? true : undefined;
      });
      await ctx.consistently({
        forMs: 4000,
        check: async () => {
          const objects = await objectsOf(ctx);
          assert.equal(objects.length, 3, 'one object for each node');
          assert.deepEqual(others(objects), others(before), 'objects of other nodes are not written');
        },
      });
      await untilPublished(ctx, sizes);
    },
  },
];
