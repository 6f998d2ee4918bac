// SPDX-License-Identifier: Apache-2.0
/** the restrictions that strict clusters demand of pods, set by values of the charts. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createCalls, publishCalls } from '../../driver/calls.ts';
import { findPod, type Component } from '../../deployment/chart-objects.ts';
import { deployAll, deploySnapshotController, nodeOf } from '../../deployment/deploy.ts';
import { claimed } from '../../workload/user-pods.ts';
import type { ScenarioContext } from '../context.ts';
import { startUser, untilSaid, reads, writes } from '../node/user-steps.ts';
import { containerOf, endPod } from '../pod-life.ts';
import { createClaim, createClass, untilBound } from '../provisioner/steps.ts';
import { ask, expandCalls, sizesOf, untilSize } from '../resizer/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotClass,
  deleteSnapshot,
  fromSnapshot,
  installDefinitions,
  untilNoSnapshots,
  untilReady,
} from '../snapshots/steps.ts';

const controllers = ['csi-provisioner', 'csi-attacher', 'csi-resizer', 'csi-snapshotter'] as const;
const uid = 12_345;
const file = '/data/file';

export const confined: readonly Scenario[] = [
  {
    id: 'X-05',
    title:
      'controllers as uid 12345 of group 0, with a read-only root, without capabilities and under a system call filter: a volume is provisioned, attached, written to, snapshot, restored and grown',
    needs: ['kubelet'],
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      await installDefinitions(ctx);
      const { driver } = await deployAll(ctx, {
        controllers,
        socketMode: 0o777,
        values: {
          driver: { controller: { runAsRoot: false } },
          controller: { podSecurityContext: { runAsUser: uid, runAsGroup: 0 } },
        },
      });
      await deploySnapshotController(ctx);
      for (const name of [...controllers, 'csi-driver', 'liveness-probe'])
        assert.deepEqual(await confinementOf(ctx, 'controller', name), { ...expected, user: uid, group: 0 }, name);
      const other = await confinementOf(ctx, 'snapshot-controller', 'snapshot-controller');
      assert.deepEqual(other, { ...expected, user: 65_532, group: 65_532 });

      const className = await createClass(ctx, {
        parameters: { layout: 'filesystem', 'csi.storage.k8s.io/fstype': 'xfs' },
        allowVolumeExpansion: true,
      });
      await createClaim(ctx, className);
      await startUser(ctx, { name: 'writer', volume: claimed('claim'), script: writes(file) });
      const written = await untilSaid(ctx, 'writer', 'sum');
      assert.equal((await createCalls(driver)).length, 1);
      assert.equal((await publishCalls(driver)).length, 1);
      await createSnapshot(ctx, { volumeSnapshotClassName: await createSnapshotClass(ctx) });
      await untilReady(ctx);
      await createClaim(ctx, className, { name: 'restored', spec: fromSnapshot('snap') });
      await startUser(ctx, { name: 'reader', volume: claimed('restored'), script: reads(file) });
      assert.equal(await untilSaid(ctx, 'reader', 'sum'), written);
      await untilBound(ctx, 'restored');
      await ask(ctx, '2Gi');
      await untilSize(ctx, '2Gi');
      assert.deepEqual(sizesOf(await expandCalls(ctx)), ['2Gi']);
      for (const name of ['writer', 'reader']) await endPod(ctx, name);
      await deleteSnapshot(ctx);
      await untilNoSnapshots(ctx);
    },
  },
];

interface Confinement {
  readonly user: number;
  readonly group: number;
  readonly capabilities: bigint;
  readonly newPrivileges: boolean;
  /** 2: by a filter. */
  readonly systemCalls: number;
  readonly root: 'read-only' | 'writable';
}

const expected = { capabilities: 0n, newPrivileges: false, systemCalls: 2, root: 'read-only' } as const;

/** As the kernel sees the first process of a container. */
async function confinementOf(ctx: ScenarioContext, component: Component, container: string): Promise<Confinement> {
  const pod = await findPod(ctx, component);
  const [pid] = nodeOf(ctx).processesOf(containerOf(pod!, container).containerID ?? '');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): string => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1] ?? '';
  const options = /^\S+ \S+ \S+ \S+ \/ (\S+)/m.exec(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'))?.[1] ?? '';
  return {
    user: Number(field('Uid')),
    group: Number(field('Gid')),
    capabilities: BigInt(`0x${field('CapEff')}`) | BigInt(`0x${field('CapBnd')}`),
    newPrivileges: field('NoNewPrivs') !== '1',
    systemCalls: Number(field('Seccomp')),
    root: options.split(',').includes('ro') ? 'read-only' : 'writable',
  };
}
