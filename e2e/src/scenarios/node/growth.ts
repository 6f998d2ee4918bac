// SPDX-License-Identifier: Apache-2.0
/** volumes grow under pods on a real kubelet, which does the part of the node. */
import assert from 'node:assert/strict';
import type { AuditedRequest } from '../../audit/read-audit.ts';
import type { ServiceAccountRef } from '../../control-planes/control-plane.ts';
import { deployAll, type Deployment } from '../../deployment/deploy.ts';
import { claimed } from '../../workload/user-pods.ts';
import type { ScenarioContext } from '../context.ts';
import { endPod } from '../pod-life.ts';
import { createClaim, createClass, untilBound, untilEvent } from '../provisioner/steps.ts';
import {
  ask,
  assertGrown,
  expandCalls,
  gib,
  nodeExpandCalls,
  resizeStatus,
  sizesOf,
  untilSize,
  untilStatus,
} from '../resizer/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  countsLines,
  lastSaid,
  reads,
  startUser,
  stillWrites,
  untilSaid,
  writes,
  writesAllTheTime,
} from './user-steps.ts';

const file = '/data/file';
/** Grows while it is mounted. The kernel allows the same of ext4 only to holders of CAP_SYS_RESOURCE, which sandboxes drop. */
export const fileSystem = { layout: 'filesystem', 'csi.storage.k8s.io/fstype': 'xfs' };
/** At most this much of a file system of some GiB is its own. */
const overhead = gib / 8n;

/** The pod says how much space it sees. */
export const reportsFreeSpace = [
  `while true; do echo "bytes $(($(stat -f -c '%b * %S' /data)))"; sleep 0.2; done &`,
] as const;

export const nodeGrowth: readonly Scenario[] = [
  {
    id: 'R-01',
    title:
      'a file system grows under a pod that writes: controller, PersistentVolume, node, claim, in this order; the pod is not disturbed and its data is intact',
    needs: ['kubelet', 'audit'],
    run: async (ctx) => {
      const { account } = await deployToGrow(ctx);
      const written = await writerOnFileSystem(ctx);
      await ask(ctx, '2Gi');
      await untilSize(ctx, '2Gi');

      await assertGrown(ctx, '2Gi');
      assert.deepEqual(sizesOf(await expandCalls(ctx)), ['2Gi']);
      await untilEvent(ctx, 'FileSystemResizeRequired', 'Require file system resize of volume on node');
      await assertOrder(ctx, account);
      await untilSpace(ctx, 2n * gib);
      await assertIntact(ctx, written);
    },
  },
  {
    id: 'R-03',
    title:
      'a block volume grows under its pod: the pod sees the new size and writes beyond the old end, and its data is intact',
    needs: ['kubelet'],
    run: async (ctx) => {
      await deployToGrow(ctx);
      const className = await createClass(ctx, { allowVolumeExpansion: true });
      await createClaim(ctx, className, { spec: { volumeMode: 'Block', ...requestOf('1Gi') } });
      const device = { volume: claimed('claim'), as: 'device' } as const;
      const beyond = `until test $(blockdev --getsize64 /dev/data) -gt ${gib}; do sleep 0.2; done`;
      const writesBeyond = 'dd if=/dev/zero of=/dev/data bs=1M seek=1500 count=1 conv=notrunc,fsync';
      await startUser(ctx, {
        name: 'user',
        ...device,
        script: [
          ...writes('/dev/data'),
          beyond,
          writesBeyond,
          'echo "bytes $(blockdev --getsize64 /dev/data)"',
          ...reads('/dev/data').map((line) => line.replace('sum', 'again')),
        ],
      });
      const written = await untilSaid(ctx, 'user', 'sum');

      await ask(ctx, '2Gi');
      await untilSize(ctx, '2Gi');
      await assertGrown(ctx, '2Gi');
      assert.equal(await untilSaid(ctx, 'user', 'bytes'), String(2n * gib));
      assert.equal(await untilSaid(ctx, 'user', 'again'), written);
      for (const { request } of await nodeExpandCalls(ctx)) {
        assert.ok(request.volume_capability?.block, 'the node is asked to grow a device, not a file system');
      }
      await endPod(ctx, 'user');
      await startUser(ctx, { name: 'reader', ...device, script: reads('/dev/data') });
      assert.equal(await untilSaid(ctx, 'reader', 'sum'), written);
      await endPod(ctx, 'reader');
    },
  },
  {
    id: 'R-15',
    title:
      'a size that the driver refuses under a pod that writes: the user lowers the request, the file system grows to it, and the data is intact',
    needs: ['kubelet', 'driver-faults'],
    run: async (ctx) => {
      const { driver } = await deployToGrow(ctx);
      const written = await writerOnFileSystem(ctx);
      const rule = await driver.control.addFault({
        method: 'ControllerExpandVolume',
        action: { kind: 'fail', code: 'OutOfRange', message: 'too large' },
      });
      await ask(ctx, '4Gi');
      await untilStatus(ctx, 'is infeasible', (it) => resizeStatus(it) === 'ControllerResizeInfeasible');
      assert.deepEqual(await nodeExpandCalls(ctx), []);
      await stillWrites(ctx, 'writer');
      await driver.control.removeFault(rule);
      await ask(ctx, '2Gi');

      await untilSize(ctx, '2Gi');
      await assertGrown(ctx, '2Gi');
      await untilSpace(ctx, 2n * gib);
      assert.ok(Number(lastSaid(ctx, 'writer', 'bytes')) < 2n * gib, 'the refused size is nowhere');
      await assertIntact(ctx, written);
    },
  },
];

async function deployToGrow(ctx: ScenarioContext): Promise<Deployment> {
  return await deployAll(ctx, { controllers: ['csi-provisioner', 'csi-attacher', 'csi-resizer'] });
}

function requestOf(storage: string) {
  return { resources: { requests: { storage } } };
}

/** A pod that has written a file, goes on writing lines, and says how much space it sees. Returns the checksum of the file. */
async function writerOnFileSystem(ctx: ScenarioContext): Promise<string> {
  const className = await createClass(ctx, { allowVolumeExpansion: true, parameters: fileSystem });
  await createClaim(ctx, className, { spec: requestOf('1Gi') });
  const script = [...writes(file), ...reportsFreeSpace, ...writesAllTheTime];
  await startUser(ctx, { name: 'writer', volume: claimed('claim'), script });
  const written = await untilSaid(ctx, 'writer', 'sum');
  assert.ok(Number(await untilSaid(ctx, 'writer', 'bytes')) < gib, 'the file system has the size of the claim');
  await untilSaid(ctx, 'writer', 'line');
  return written;
}

/** The pod `writer` sees this much. */
export async function untilSpace(ctx: ScenarioContext, bytes: bigint): Promise<void> {
  await ctx.eventually('the pod sees the space', () => Number(lastSaid(ctx, 'writer', 'bytes')) > bytes - overhead);
}

/** The writer was never disturbed, and a pod that comes later reads what it wrote. */
async function assertIntact(ctx: ScenarioContext, written: string): Promise<void> {
  await stillWrites(ctx, 'writer');
  const lines = Number(lastSaid(ctx, 'writer', 'line'));
  await endPod(ctx, 'writer');
  await startUser(ctx, { name: 'reader', volume: claimed('claim'), script: [...reads(file), ...countsLines('data')] });
  assert.equal(await untilSaid(ctx, 'reader', 'sum'), written);
  const read = Number(await untilSaid(ctx, 'reader', 'data'));
  assert.ok(read >= lines, `${lines} lines were durable, ${read} are there`);
  await endPod(ctx, 'reader');
}

/** By the API server's audit log and the driver's journal. */
async function assertOrder(ctx: ScenarioContext, account: ServiceAccountRef): Promise<void> {
  const requests = ctx.testRun.controlPlane.audit?.() ?? [];
  const { volume } = await untilBound(ctx);
  const patches = (by: (it: AuditedRequest) => boolean, resource: string, name: string): readonly number[] =>
    requests
      .filter((it) => it.verb === 'patch' && by(it) && it.resource === resource && it.name === name)
      .filter((it) => it.namespace === (resource === 'persistentvolumes' ? '' : ctx.namespace))
      .map(({ receivedAtMs = NaN }) => receivedAtMs);
  const controllers = `system:serviceaccount:${account.namespace}:${account.name}`;
  // All controllers of the pod are the same user.
  const resizer = ({ user, userAgent }: AuditedRequest): boolean =>
    user === controllers && userAgent.startsWith('csi-resizer');
  const kubelet = ({ user }: AuditedRequest): boolean => user === `system:node:${ctx.testRun.controlPlane.node?.name}`;
  const order = [
    (await expandCalls(ctx))[0]?.beganAtMs,
    patches(resizer, 'persistentvolumes', volume.metadata?.name ?? '')[0],
    (await nodeExpandCalls(ctx))[0]?.beganAtMs,
    patches(kubelet, 'persistentvolumeclaims', 'claim').at(-1),
  ];
  assert.ok(
    order.every((time) => time !== undefined),
    `each step was seen: ${order.join(', ')}`,
  );
  assert.deepEqual(
    order,
    order.toSorted((a = NaN, b = NaN) => a - b),
  );
}
