// SPDX-License-Identifier: Apache-2.0
/** C-01 to C-04: published storage capacity. Nodes are emulated; the capacity is that of the driver's pools. */
import assert from 'node:assert/strict';
import {
  type CSIStorageCapacity,
  csiStorageCapacities,
  type KubeObject,
  nodes as nodeResource,
  type Pod,
  pods,
  type Resource,
  storageClasses,
} from '@csi-sidecars/runtime';
import { freePorts } from '../../control-planes/local/free-ports.ts';
import { createCalls } from '../../driver/calls.ts';
import type { SupervisedProcess } from '../../processes/supervised-process.ts';
import { request } from '../../suite-client/request.ts';
import type { ScenarioContext } from '../context.ts';
import { aPod } from '../objects.ts';
import type { Scenario } from '../scenario.ts';
import { createClaim, createClass, untilBound, untilEvent } from './steps.ts';
import { onNodes, type TwoZones, twoZones, untilScheduled, waitForPod, zoneKey } from './zones.ts';

const gib = 1n << 30n;
const podName = 'provisioner';

interface Publishing {
  readonly level?: number;
  readonly pod?: string;
  readonly args?: readonly string[];
}

/** Polls every other second, and may write as often as it likes. */
function startPublisher(
  ctx: ScenarioContext,
  { level = -1, pod = podName, args = [] }: Publishing = {},
): Promise<SupervisedProcess> {
  const own = [
    '--enable-capacity',
    `--capacity-ownerref-level=${level}`,
    '--capacity-poll-interval=2s',
    '--kube-api-capacity-qps=50',
    '--kube-api-capacity-burst=50',
  ];
  return ctx.startProvisioner({ args: [...own, ...args], env: { NAMESPACE: ctx.namespace, POD_NAME: pod } });
}

/** A pod that no scheduler touches: the one in which the provisioner would run. */
const anIdlePod: Pod['spec'] = { schedulerName: 'none', containers: [{ name: 'main', image: 'none' }] };

async function objectsOf({ api, namespace }: ScenarioContext): Promise<readonly CSIStorageCapacity[]> {
  return (await api.list(csiStorageCapacities, { namespace })).items;
}

/** `class@zone=1Gi`, sorted. */
function linesOf(objects: readonly CSIStorageCapacity[]): readonly string[] {
  return objects
    .map(({ storageClassName, nodeTopology, capacity }) => {
      return `${storageClassName}@${nodeTopology?.matchLabels?.[zoneKey] ?? ''}=${capacity ?? ''}`;
    })
    .toSorted();
}

/** Which object has which version. */
function versionsOf(objects: readonly CSIStorageCapacity[]): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(objects.map(({ metadata }) => [metadata?.name ?? '', metadata?.resourceVersion]));
}

async function untilPublished(ctx: ScenarioContext, lines: readonly string[]): Promise<readonly CSIStorageCapacity[]> {
  const wanted = lines.toSorted();
  return await ctx.eventually(`capacity is ${wanted.join(' ') || 'gone'}`, async () => {
    const objects = await objectsOf(ctx);
    return linesOf(objects).join() === wanted.join() ? objects : undefined;
  });
}

interface Stage {
  readonly zones: TwoZones;
  readonly fast: string;
  readonly slow: string;
  /** The objects of both classes in both zones. */
  readonly all: readonly string[];
}

/** Two zones with a pool of each class: 4 and 8 GiB in the first, 5 and 9 GiB in the second. */
async function twoByTwo(ctx: ScenarioContext): Promise<Stage> {
  const zones = await twoZones(ctx);
  const { a, b, nodes } = zones;
  const pool = (kind: string, zone: string, size: bigint) => ({
    kind,
    totalBytes: size * gib,
    segments: { [zoneKey]: zone },
  });
  const pools = [pool('ssd', a, 4n), pool('ssd', b, 5n), pool('hdd', a, 8n), pool('hdd', b, 9n)];
  await ctx.startDriver({ settings: { nodes, pools }, csiDriver: { storageCapacity: true } });
  const fast = await createClass(ctx, { ...waitForPod, parameters: { kind: 'ssd' } }, 'fast');
  const slow = await createClass(ctx, { ...waitForPod, parameters: { kind: 'hdd' } }, 'slow');
  const all = [`${fast}@${a}=4Gi`, `${fast}@${b}=5Gi`, `${slow}@${a}=8Gi`, `${slow}@${b}=9Gi`];
  return { zones, fast, slow, all };
}

const deployments: Resource = {
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
  namespaced: true,
};

interface Deployment extends KubeObject {
  readonly spec: object;
}

export const capacity: readonly Scenario[] = [
  {
    id: 'C-01',
    title: 'two segments and two classes: four objects with the labels, the owner and what GetCapacity reports',
    needs: ['driver-journal', 'driver-settings'],
    run: async (ctx) => {
      const { all } = await twoByTwo(ctx);
      await createClass(ctx, { parameters: { kind: 'ssd' } }, 'immediate');
      const pod = await ctx.create(pods, { metadata: { name: podName }, spec: anIdlePod });
      await startPublisher(ctx, { level: 0 });

      const objects = await untilPublished(ctx, all);
      for (const { metadata, maximumVolumeSize, capacity: size } of objects) {
        assert.deepEqual(metadata?.labels, {
          'csi.storage.k8s.io/drivername': ctx.driverName,
          'csi.storage.k8s.io/managed-by': 'external-provisioner',
        });
        const owner = { apiVersion: 'v1', kind: 'Pod', name: podName, uid: pod.metadata?.uid, controller: true };
        assert.deepEqual(metadata.ownerReferences, [owner]);
        assert.match(metadata.name ?? '', /^csisc-/);
        assert.equal(maximumVolumeSize, size);
      }
      const versions = versionsOf(objects);
      await ctx.consistently({
        forMs: 5000,
        check: async () => {
          assert.deepEqual(versionsOf(await objectsOf(ctx)), versions, 'polls that find no change write nothing');
        },
      });
    },
  },
  {
    id: 'C-02',
    title: 'a pod waits while no node has the capacity for its claim, and runs once the driver reports more',
    needs: ['scheduler', 'driver-journal', 'driver-settings', 'driver-faults'],
    run: async (ctx) => {
      const { zones, fast } = await twoByTwo(ctx);
      const { driver } = ctx;
      const set = { available_capacity: '1048576', maximum_volume_size: { value: '1048576' } };
      const full = await driver.control.addFault({ method: 'GetCapacity', action: { kind: 'answer', set } });
      await startPublisher(ctx);
      const { a, b } = zones;
      const ofFast = async (): Promise<readonly string[]> =>
        linesOf(await objectsOf(ctx)).filter((line) => line.startsWith(fast));
      await ctx.eventually('no capacity is published', async () =>
        (await ofFast()).join() === [`${fast}@${a}=1Mi`, `${fast}@${b}=1Mi`].toSorted().join() ? true : undefined,
      );

      await createClaim(ctx, fast, { spec: { resources: { requests: { storage: '5Gi' } } } });
      await ctx.create(pods, aPod('pod', 'claim', onNodes([a, b])));
      await untilEvent(ctx, 'FailedScheduling', /did not have enough free storage|didn't match the pod's volumes/);
      await ctx.consistently({
        forMs: 3000,
        check: async () => assert.deepEqual(await createCalls(driver), []),
      });

      await driver.control.removeFault(full);
      await untilBound(ctx, 'claim', 60_000);
      assert.equal(await untilScheduled(ctx, 'pod'), b, 'only the second zone has 5 GiB');
      // At once, not with the next poll; either way the pool is empty now.
      await ctx.eventually('the capacity that the volume took is published', async () =>
        (await ofFast()).includes(`${fast}@${b}=0`) ? true : undefined,
      );
    },
  },
  {
    id: 'C-03',
    title:
      'a class goes, a node gets another zone, the provisioner restarts: the objects follow, and none is there twice',
    needs: ['driver-journal', 'driver-settings'],
    restarts: true,
    run: async (ctx) => {
      const { metrics: port } = await freePorts(['metrics']);
      const { zones, fast, slow, all } = await twoByTwo(ctx);
      const { a, b } = zones;
      const args = [`--http-endpoint=127.0.0.1:${port}`];
      const first = await startPublisher(ctx, { args });
      await untilPublished(ctx, all);

      await ctx.api.delete(storageClasses, { name: slow });
      await untilPublished(ctx, [`${fast}@${a}=4Gi`, `${fast}@${b}=5Gi`]);

      // The node moves to the zone of the other one.
      const body = { metadata: { labels: { [zoneKey]: b } } };
      await ctx.api.patch({ resource: nodeResource, ref: { name: a } }, { type: 'merge', body });
      const [kept] = await untilPublished(ctx, [`${fast}@${b}=5Gi`]);

      await first.stop();
      await startPublisher(ctx, { args });
      const page = await ctx.eventually('the new process shows its gauges', async () => {
        const { text } = await request({ url: `http://127.0.0.1:${port}/metrics` });
        return /^csistoragecapacities_desired_current 1$/m.test(text) ? text : undefined;
      });
      assert.match(page, /^csistoragecapacities_desired_goal 1$/m);
      assert.match(page, /^csistoragecapacities_obsolete 0$/m);
      await ctx.consistently({
        forMs: 3000,
        check: async () =>
          assert.deepEqual(
            (await objectsOf(ctx)).map(({ metadata }) => [metadata?.uid, metadata?.resourceVersion]),
            [[kept?.metadata?.uid, kept?.metadata?.resourceVersion]],
          ),
      });
    },
  },
  {
    id: 'C-04',
    title: 'uninstalling the Deployment of the provisioner removes all its capacity objects',
    needs: ['controller-manager', 'driver-journal', 'driver-settings'],
    // On a real kubelet pods of other scenarios' drivers would be scheduled to its nodes, which run nothing.
    exclusive: ['kubelet'],
    restarts: true,
    run: async (ctx) => {
      const { all } = await twoByTwo(ctx);
      const labels = { app: podName };
      const deployment: Deployment = {
        metadata: { name: podName },
        spec: {
          replicas: 1,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: anIdlePod },
        },
      };
      const created = await ctx.create(deployments as Resource<Deployment>, deployment);
      const { namespace } = ctx;
      const pod = await ctx.eventually('the Deployment has its pod', async () => {
        const { items } = await ctx.api.list(pods, { namespace, labelSelector: `app=${podName}` });
        return items[0]?.metadata?.name;
      });
      const provisioner = await startPublisher(ctx, { level: 2, pod });
      const objects = await untilPublished(ctx, all);
      assert.deepEqual(
        objects.map(({ metadata }) => metadata?.ownerReferences?.map(({ kind, uid }) => [kind, uid])),
        objects.map(() => [['Deployment', created.metadata?.uid]]),
      );

      await provisioner.stop();
      await ctx.api.delete(deployments, { namespace, name: podName }, { propagationPolicy: 'Background' });
      await untilPublished(ctx, []);
    },
  },
];
