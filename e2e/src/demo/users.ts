// SPDX-License-Identifier: Apache-2.0
/**
 * The pods of the demonstration: each works on the volume of one claim and says what is there then. On a real kubelet they are
 * containers; on an emulated one this process works where their volume is mounted, because no container runs.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { deployAll, deploySnapshotController } from '../deployment/deploy.ts';
import type { DriverDoor } from '../driver/driver.ts';
import { addMountingNode } from '../nodes/mounting-node.ts';
import { nodeIdOf, startAttachable } from '../scenarios/attacher/steps.ts';
import type { ScenarioContext } from '../scenarios/context.ts';
import { mebibytes, reads, startUser, untilSaid, writes } from '../scenarios/node/user-steps.ts';
import { untilRunning } from '../scenarios/pod-life.ts';
import { createPod } from '../scenarios/pods.ts';
import { untilBound } from '../scenarios/provisioner/steps.ts';
import { installDefinitions, startSnapshotController } from '../scenarios/snapshots/steps.ts';
import { claimed } from '../workload/user-pods.ts';
import { checksumOf, writeData } from '../workload/workload.ts';

export type Work = 'write a file' | 'add another file' | 'read';

export interface User {
  readonly pod: string;
  readonly claim: string;
  readonly work: Work;
}

export { mebibytes };

export interface Said {
  /** The checksum of the file that the first pod wrote. */
  readonly sum: string;
  readonly otherFile: 'there' | 'not there';
}

export interface Users {
  readonly driver: DriverDoor;
  readonly nodeName: string;
  /** Parameters of the StorageClass. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Does not wait. */
  start(user: User): Promise<void>;
  /** Resolves when the pod runs and has done its work. */
  said(user: User): Promise<Said>;
  /** Where volumes are mounted for pods, by their names; empty when none is. */
  mounts(volumeName: string): readonly string[];
}

const file = 'greeting';
const otherFile = 'later';

const controllers = ['csi-provisioner', 'csi-attacher', 'csi-resizer', 'csi-snapshotter'] as const;

/** Driver and sidecars are processes beside the control plane, and this process is the kubelet. */
export async function emulatedUsers(ctx: ScenarioContext): Promise<Users> {
  await installDefinitions(ctx);
  const nodeName = ctx.nameOf('node');
  const driver = await startAttachable(ctx, { nodes: [nodeIdOf(nodeName)] });
  const node = await addMountingNode(ctx, { name: nodeName, socket: driver.socketOf(nodeIdOf(nodeName)) });
  for (const name of controllers) await ctx.startSidecar(name);
  await startSnapshotController(ctx);
  return {
    driver,
    nodeName,
    parameters: {},
    start: ({ pod: name, claim }) => createPod(ctx, { name, node, claim }),
    said: async ({ pod, claim, work }) => {
      await untilRunning(ctx, pod, 60_000);
      const { volume } = await untilBound(ctx, claim);
      const [folder] = node.mounts().get(volume.metadata?.name ?? '') ?? [];
      if (folder === undefined) throw new Error(`the volume of pod ${pod} is not mounted`);
      return await workIn(folder, work);
    },
    mounts: (volumeName) => node.mounts().get(volumeName) ?? [],
  };
}

async function workIn(folder: string, work: Work): Promise<Said> {
  if (work === 'write a file') await writeData(folder, file, mebibytes);
  if (work === 'add another file') await writeData(folder, otherFile, 1);
  return {
    sum: await checksumOf(folder, file),
    otherFile: existsSync(join(folder, otherFile)) ? 'there' : 'not there',
  };
}

/** Everything is in pods, deployed by the charts, as in any cluster. */
export async function realUsers(ctx: ScenarioContext): Promise<Users> {
  await installDefinitions(ctx);
  const { driver, node } = await deployAll(ctx, { controllers });
  await deploySnapshotController(ctx);
  return {
    driver,
    nodeName: node.name,
    // A file system that grows under a pod, and that the driver can freeze.
    parameters: { layout: 'filesystem', 'csi.storage.k8s.io/fstype': 'xfs' },
    start: async ({ pod: name, claim, work }) =>
      startUser(ctx, { name, volume: claimed(claim), script: scripts[work] }),
    said: async ({ pod }) => {
      const other = await untilSaid(ctx, pod, 'other');
      return {
        sum: await untilSaid(ctx, pod, 'sum'),
        otherFile: other === 'there' ? 'there' : 'not there',
      };
    },
    mounts: (volumeName) => node.volumeMounts().filter((path) => path.includes(volumeName)),
  };
}

const says = [
  ...reads(`/data/${file}`),
  `if [ -e /data/${otherFile} ]; then echo "other there"; else echo "other no"; fi`,
];
const scripts: Readonly<Record<Work, readonly string[]>> = {
  'write a file': [...writes(`/data/${file}`), ...says],
  'add another file': [`dd if=/dev/urandom of=/data/${otherFile} bs=1M count=1 conv=fsync`, ...says],
  read: says,
};
