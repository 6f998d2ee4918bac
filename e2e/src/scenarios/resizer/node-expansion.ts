// SPDX-License-Identifier: Apache-2.0
/** expansions that a node has to finish, or that wait for the end of a pod. */
import assert from 'node:assert/strict';
import { persistentVolumes } from '@csi-sidecars/runtime';
import { addMountingNode } from '../../nodes/mounting-node.ts';
import type { AnnouncedDriverOptions, ScenarioContext } from '../context.ts';
import { endPod, untilRunning } from '../pod-life.ts';
import { createPod } from '../pods.ts';
import { untilEvent } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  ask,
  assertGrown,
  driverWithout,
  expandCalls,
  nodeExpandCalls,
  plainDriver,
  readyToGrow,
  resizeStatus,
  sizesOf,
  untilSize,
  untilStatus,
  withoutNode,
} from './steps.ts';

const needs = ['scheduler', 'driver-journal', 'driver-settings'] as const;

/** A claim, and a node that mounts it for a pod. */
async function readyOnNode(ctx: ScenarioContext, driver: AnnouncedDriverOptions = plainDriver) {
  const name = ctx.nameOf('node');
  const bound = await readyToGrow(ctx, { driver: { ...driver, nodes: [name] } });
  const node = await addMountingNode(ctx, { name, socket: ctx.driver.socketOf(name) });
  return { ...bound, node };
}

export const nodeExpansion: readonly Scenario[] = [
  {
    id: 'R-02',
    title: 'a claim grows without a pod: it waits for its node, and has its size when a pod runs',
    needs: ['expansion-recovery', ...needs],
    run: async (ctx) => {
      const { node, volume } = await readyOnNode(ctx);
      await ask(ctx, '2Gi');
      const { status } = await untilStatus(ctx, 'waits for its node', (it) => resizeStatus(it) === 'NodeResizePending');
      assert.equal(status?.capacity?.['storage'], '1Gi');
      assert.ok(status.conditions?.some(({ type }) => type === 'FileSystemResizePending'));
      await untilEvent(ctx, 'FileSystemResizeRequired', 'Require file system resize of volume on node');

      await createPod(ctx, { name: 'pod', node });
      await untilRunning(ctx, 'pod');
      await untilSize(ctx, '2Gi');
      await assertGrown(ctx, '2Gi');
      await ctx.eventually('the recorded old size is gone', async () => {
        const { metadata } = await ctx.api.get(persistentVolumes, { name: volume.metadata?.name ?? '' });
        return metadata?.annotations?.['volume.alpha.kubernetes.io/pre-resize-capacity'] === undefined;
      });
      assert.deepEqual(sizesOf(await expandCalls(ctx)), ['2Gi']);
      await endPod(ctx, 'pod');
    },
  },
  {
    id: 'R-05',
    title: 'of a driver that expands on nodes only, a claim grows under a pod without a call to the controller',
    needs,
    run: async (ctx) => {
      const { node } = await readyOnNode(ctx, driverWithout('controller', 'EXPAND_VOLUME'));
      await createPod(ctx, { name: 'pod', node });
      await untilRunning(ctx, 'pod');
      await ask(ctx, '2Gi');
      await ctx.eventually('the node is asked to expand', async () => (await nodeExpandCalls(ctx)).length > 0);
      assert.deepEqual(await expandCalls(ctx), []);
      await endPod(ctx, 'pod');
    },
  },
  {
    id: 'R-07',
    title: 'a volume that grows only while it is not in use is asked for once, and again when its pod is gone',
    needs: ['driver-faults', ...needs],
    run: async (ctx) => {
      const { node } = await readyOnNode(ctx, withoutNode);
      await createPod(ctx, { name: 'pod', node });
      await untilRunning(ctx, 'pod');
      const rule = await ctx.driver.control.addFault({
        method: 'ControllerExpandVolume',
        action: { kind: 'fail', code: 'FailedPrecondition', message: 'in use' },
      });
      await ask(ctx, '2Gi');
      await untilEvent(ctx, 'VolumeResizeFailed', 'only supports offline expansion and volume is currently in-use');
      assert.equal((await expandCalls(ctx)).length, 1);
      await ctx.driver.control.removeFault(rule);
      await ctx.consistently({
        forMs: 3_000,
        check: async () => assert.equal((await expandCalls(ctx)).length, 1),
      });

      await endPod(ctx, 'pod');
      await untilSize(ctx, '2Gi');
      // The driver may still be unstaging the volume when the pod is gone, and refuses other calls for it until then.
      const outcomes = (await expandCalls(ctx)).map(({ outcome }) =>
        outcome?.kind === 'refused' ? outcome.code : outcome?.kind,
      );
      assert.deepEqual(
        outcomes.filter((outcome) => outcome !== 'Aborted'),
        ['FailedPrecondition', 'answered'],
      );
    },
  },
];
