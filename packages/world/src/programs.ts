// SPDX-License-Identifier: Apache-2.0
/** The programs of the world: the real ones, with the command lines of their charts. */
import { runAll } from '@csi-sidecars/all-in-one';
import { attacherSidecar } from '@csi-sidecars/attacher';
import { lockNameOf as attacherLock } from '@csi-sidecars/attacher/testing';
import { systemSocketFiles } from '@csi-sidecars/node-driver-registrar';
import { provisionerSidecar } from '@csi-sidecars/provisioner';
import { lockNameOf as provisionerLock } from '@csi-sidecars/provisioner/testing';
import { resizerSidecar } from '@csi-sidecars/resizer';
import { lockNameOf as resizerLock } from '@csi-sidecars/resizer/testing';
import { leaseName } from '@csi-sidecars/runtime/internal';
import { type ProgramDeps, runSidecarProgram } from '@csi-sidecars/sidecar';
import { runSnapshotController } from '@csi-sidecars/snapshot-controller';
import { lockName } from '@csi-sidecars/snapshot-controller/testing';
import { snapshotterSidecar } from '@csi-sidecars/snapshotter';
import { lockNameOf as snapshotterLock } from '@csi-sidecars/snapshotter/testing';
import { leaseNamespace } from './names.ts';
import type { Shape } from './story.ts';

export type ProgramName =
  | 'csi-provisioner'
  | 'csi-attacher'
  | 'csi-resizer'
  | 'csi-snapshotter'
  | 'snapshot-controller';

/** Resolves with the exit code. */
export type Run = (deps: ProgramDeps) => Promise<number>;

const runs: Readonly<Record<ProgramName, Run>> = {
  'csi-provisioner': (deps) => runSidecarProgram(deps, provisionerSidecar),
  'csi-attacher': (deps) => runSidecarProgram(deps, attacherSidecar),
  'csi-resizer': (deps) => runSidecarProgram(deps, resizerSidecar),
  'csi-snapshotter': (deps) => runSidecarProgram(deps, snapshotterSidecar),
  'snapshot-controller': runSnapshotController,
};

/** Several names are one process: `csi-sidecars`. */
export function runOf(names: readonly ProgramName[]): Run {
  const [name, ...more] = names;
  if (name === undefined || more.length > 0) {
    return (deps) => runAll({ ...deps, files: systemSocketFiles(), platform: 'unix' });
  }
  return runs[name];
}

/** `onNode`: the instance of that node, which elects no leader. */
export function argsOf(names: readonly ProgramName[], shape: Shape, onNode?: number): readonly string[] {
  const isOurs = names.includes('csi-provisioner');
  return [
    ...(names[0] === 'snapshot-controller' ? [] : ['--csi-address=/csi/csi.sock']),
    ...(shape.logs ? ['--v=10'] : []),
    ...limitsOf(names, shape),
    ...resyncOf(names),
    ...(isOurs ? [`--provisioning-protection=${shape.protection}`] : []),
    ...(isOurs && shape.capacity === true ? capacityArgs : []),
    ...(names.length > 1 ? [`--controllers=${names.map((name) => name.replace('csi-', '')).join(',')}`] : []),
    ...(names[0] === 'snapshot-controller' && shape.snapshotsOnNodes ? ['--enable-distributed-snapshotting'] : []),
    ...(onNode === undefined
      ? ['--leader-election', `--leader-election-namespace=${leaseNamespace}`]
      : ['--node-deployment', ...(isOurs ? provisionerOnNodeArgs : [])]),
  ];
}

const provisionerOnNodeArgs = [
  '--strict-topology',
  '--node-deployment-base-delay=2s',
  '--node-deployment-max-delay=10s',
];

const capacityArgs = [
  '--enable-capacity',
  '--capacity-ownerref-level=-1',
  '--capacity-for-immediate-binding',
  '--capacity-poll-interval=150s',
];

/** Longer than a story: a resync would make up for a wake-up that is missing. */
function resyncOf([name, ...more]: readonly ProgramName[]): readonly string[] {
  if (more.length > 0 || name === 'csi-attacher') return ['--resync=1h'];
  return name === 'csi-provisioner' ? [] : ['--resync-period=1h'];
}

const limits: Readonly<Record<'tight' | 'wide', readonly [workers: number, qps: number, burst: number]>> = {
  tight: [1, 3, 3],
  wide: [100, 1_000, 1_000],
};

function limitsOf(names: readonly ProgramName[], shape: Shape): readonly string[] {
  if (shape.limits === 'default') return [];
  const [workers, qps, burst] = limits[shape.limits];
  const hasThreads = names.some((name) => name !== 'csi-resizer');
  return [
    `--kube-api-qps=${qps}`,
    `--kube-api-burst=${burst}`,
    ...(hasThreads ? [`--worker-threads=${workers}`] : []),
    ...(names.includes('csi-resizer') ? [`--workers=${workers}`] : []),
  ];
}

const lockNames: Readonly<Record<ProgramName, (driverName: string) => string>> = {
  'csi-provisioner': provisionerLock,
  'csi-attacher': attacherLock,
  'csi-resizer': resizerLock,
  'csi-snapshotter': snapshotterLock,
  'snapshot-controller': () => lockName,
};

/** The name of the Lease under which a program works. */
export function leaseOf(program: ProgramName, driverName: string): string {
  return leaseName(lockNames[program](driverName));
}

const methodsOf: Readonly<Partial<Record<ProgramName, readonly string[]>>> = {
  'csi-provisioner': ['CreateVolume', 'DeleteVolume'],
  'csi-attacher': ['ControllerPublishVolume', 'ControllerUnpublishVolume'],
  'csi-resizer': ['ControllerExpandVolume', 'ControllerModifyVolume'],
  'csi-snapshotter': ['CreateSnapshot', 'DeleteSnapshot'],
};

export const programsByMethod: ReadonlyMap<string, string> = new Map(
  Object.entries(methodsOf).flatMap(([name, methods]) => methods.map((method) => [method, name] as const)),
);

/** The lease that a process holds when it calls a method, by method. */
export function leasesByMethod(driverName: string): ReadonlyMap<string, string> {
  return new Map(
    [...programsByMethod].map(([method, name]) => [method, leaseOf(name as ProgramName, driverName)] as const),
  );
}
