// SPDX-License-Identifier: Apache-2.0
/** P-05 to P-07 and P-28: volumes where the pods are. Nodes are emulated; of the driver they know the API side. */
import assert from 'node:assert/strict';
import { csiNodes, nodes as nodeResource, persistentVolumeClaims, pods } from '@csi-sidecars/runtime';
import { createCalls } from '../../driver/calls.ts';
import type { ScenarioContext } from '../context.ts';
import { aPod } from '../objects.ts';
import type { Scenario } from '../scenario.ts';
import { createClaim, createClass, untilBound, untilEvent } from './steps.ts';
import { onNodes, twoZones, untilScheduled, waitForPod, zoneKey } from './zones.ts';

const selectedNode = 'volume.kubernetes.io/selected-node';

async function setCordon(ctx: ScenarioContext, name: string, unschedulable: 'cordoned' | 'open'): Promise<void> {
  const body = { spec: { unschedulable: unschedulable === 'cordoned' } };
  await ctx.api.patch({ resource: nodeResource, ref: { name } }, { type: 'merge', body });
}

export const topology: readonly Scenario[] = [
  {
    id: 'P-05',
    title: 'WaitForFirstConsumer: the volume is made where the scheduler wants the pod',
    needs: ['scheduler', 'driver-journal', 'driver-settings'],
    run: async (ctx) => {
      const { a, b, nodes } = await twoZones(ctx);
      const driver = await ctx.startDriver({ settings: { nodes } });
      await ctx.startProvisioner();
      await createClaim(ctx, await createClass(ctx, waitForPod));
      await ctx.consistently({
        forMs: 1000,
        check: async () => assert.deepEqual(await createCalls(driver), []),
      });

      await ctx.create(pods, aPod('pod', 'claim', onNodes([a, b])));
      const { volume } = await untilBound(ctx);
      const node = await untilScheduled(ctx, 'pod');

      const [call, ...others] = await createCalls(driver);
      assert.deepEqual(others, []);
      assert.deepEqual(call?.request.accessibility_requirements?.preferred[0]?.segments, { [zoneKey]: node });
      const terms = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms;
      assert.deepEqual(terms, [{ matchExpressions: [{ key: zoneKey, operator: 'In', values: [node] }] }]);
    },
  },
  {
    id: 'P-06',
    title: '--strict-topology asks for the selected segment only; a selected node outside of the class is an error',
    needs: ['driver-journal', 'driver-settings'],
    run: async (ctx) => {
      const { a, b, nodes } = await twoZones(ctx);
      const driver = await ctx.startDriver({ settings: { nodes } });
      await ctx.startProvisioner({ args: ['--strict-topology'] });
      const only = (zone: string): object => ({
        ...waitForPod,
        allowedTopologies: [{ matchLabelExpressions: [{ key: zoneKey, values: [zone] }] }],
      });
      const select = async (name: string, node: string): Promise<void> => {
        const target = { resource: persistentVolumeClaims, ref: { namespace: ctx.namespace, name } };
        const body = { metadata: { annotations: { [selectedNode]: node } } };
        await ctx.api.patch(target, { type: 'merge', body });
      };

      await createClaim(ctx, await createClass(ctx, only(a)), { name: 'possible' });
      await select('possible', a);
      await untilBound(ctx, 'possible');
      const [call] = await createCalls(driver);
      const wanted = [{ segments: { [zoneKey]: a } }];
      assert.deepEqual(call?.request.accessibility_requirements, { requisite: wanted, preferred: wanted });

      await createClaim(ctx, await createClass(ctx, only(a), 'other'), { name: 'impossible' });
      await select('impossible', b);
      await untilEvent(ctx, 'ProvisioningFailed', 'is not in allowed topologies');
      assert.equal((await createCalls(driver)).length, 1);
    },
  },
  {
    id: 'P-07',
    title: 'a full first node gives the claim back to the scheduler; the volume ends on the other, none on the first',
    needs: ['scheduler', 'driver-journal', 'driver-settings'],
    run: async (ctx) => {
      const { a, b, nodes } = await twoZones(ctx);
      const pools = [
        { kind: 'disk', totalBytes: 0n, segments: { [zoneKey]: a } },
        { kind: 'disk', totalBytes: 1n << 40n, segments: { [zoneKey]: b } },
      ];
      const driver = await ctx.startDriver({ settings: { nodes, pools } });
      // Otherwise the driver may take the other node's storage by itself.
      await ctx.startProvisioner({ args: ['--strict-topology'] });
      await setCordon(ctx, b, 'cordoned');
      await createClaim(ctx, await createClass(ctx, waitForPod));
      await ctx.create(pods, aPod('pod', 'claim', onNodes([a, b])));
      await untilEvent(ctx, 'ProvisioningFailed', 'ResourceExhausted');

      await setCordon(ctx, b, 'open');
      await setCordon(ctx, a, 'cordoned');
      await untilBound(ctx, 'claim', 60_000);

      assert.equal(await untilScheduled(ctx, 'pod'), b);
      assert.equal((await driver.control.volumes()).length, 1);
    },
  },
  {
    id: 'P-28',
    title: 'the selected node disappears before anything was provisioned: the scheduler chooses again',
    needs: ['scheduler', 'driver-journal', 'driver-settings'],
    run: async (ctx) => {
      const { a, b, nodes } = await twoZones(ctx);
      const driver = await ctx.startDriver({ settings: { nodes } });
      await setCordon(ctx, b, 'cordoned');
      await createClaim(ctx, await createClass(ctx, waitForPod));
      await ctx.create(pods, aPod('pod', 'claim', onNodes([a, b])));
      await ctx.eventually('the scheduler has selected the first node', async () => {
        const claim = await ctx.api.get(persistentVolumeClaims, { namespace: ctx.namespace, name: 'claim' });
        return claim.metadata?.annotations?.[selectedNode] === a;
      });
      await ctx.api.delete(csiNodes, { name: a });
      await ctx.api.delete(nodeResource, { name: a });
      await setCordon(ctx, b, 'open');

      await ctx.startProvisioner();
      await untilBound(ctx, 'claim', 60_000);

      assert.equal(await untilScheduled(ctx, 'pod'), b);
      assert.equal((await createCalls(driver)).length, 1);
      assert.equal((await driver.control.volumes()).length, 1);
    },
  },
];
