// SPDX-License-Identifier: Apache-2.0
/** The programs of the world: the real ones, with the command lines of their charts. */
import { runAll } from '@csi-sidecars/all-in-one';
import { attacherSidecar } from '@csi-sidecars/attacher';
import { lockNameOf as attacherLock } from '@csi-sidecars/attacher/testing';
import { lockName as validatorLock, runDataSourceValidator } from '@csi-sidecars/data-source-validator';
import { healthMonitorSidecar } from '@csi-sidecars/health-monitor';
import { lockNameOf as healthMonitorLock } from '@csi-sidecars/health-monitor/testing';
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

/** Programs that report and change nothing else. */
export type ReporterName = 'csi-external-health-monitor-controller' | 'volume-data-source-validator';

export type ProgramName =
  | ReporterName
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
  'csi-external-health-monitor-controller': (deps) => runSidecarProgram(deps, healthMonitorSidecar),
  'volume-data-source-validator': runDataSourceValidator,
};

/** Several names are one process: `csi-sidecars`. */
export function runOf(names: readonly ProgramName[]): Run {
  const [name, ...more] = names;
  if (name === undefined || more.length > 0) {
    return (deps) => runAll({ ...deps, files: systemSocketFiles(), platform: 'unix' });
  }
  return runs[name];
}

/** The name of a controller in `csi-sidecars`. */
export function controllerOf(name: ProgramName): string {
  return name === 'csi-external-health-monitor-controller' ? 'health-monitor' : name.replace('csi-', '');
}

const withoutDriver: readonly (ProgramName | undefined)[] = ['snapshot-controller', 'volume-data-source-validator'];

/** `onNode`: the instance of that node, which elects no leader. */
export function argsOf(names: readonly ProgramName[], shape: Shape, onNode?: number): readonly string[] {
  const isOurs = names.includes('csi-provisioner');
  return [
    ...(withoutDriver.includes(names[0]) ? [] : ['--csi-address=/csi/csi.sock']),
    ...(shape.logs ? ['--v=10'] : []),
    ...limitsOf(names, shape),
    ...resyncOf(names),
    ...(isOurs ? [`--provisioning-protection=${shape.protection}`] : []),
    ...(isOurs && shape.capacity === true ? capacityArgs : []),
    ...(names.length > 1 ? [`--controllers=${names.map(controllerOf).join(',')}`] : []),
    ...(names[0] === 'snapshot-controller' && shape.snapshotsOnNodes ? ['--enable-distributed-snapshotting'] : []),
    ...(names[0] === 'snapshot-controller' && shape.validator === 'beside' ? ['--enable-data-source-validator'] : []),
    ...(names.includes('csi-external-health-monitor-controller') ? healthMonitorArgs : []),
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

/** Some cycles within a story, and not more calls at rest than are allowed for what waits. */
const healthMonitorArgs = ['--monitor-interval=20s', '--list-volumes-interval=20s'];

const capacityArgs = [
  '--enable-capacity',
  '--capacity-ownerref-level=-1',
  '--capacity-for-immediate-binding',
  '--capacity-poll-interval=150s',
];

const resyncing: readonly ProgramName[] = ['csi-resizer', 'csi-snapshotter', 'snapshot-controller'];

/** Longer than a story: a resync would make up for a wake-up that is missing. */
function resyncOf([name, ...more]: readonly ProgramName[]): readonly string[] {
  if (more.length > 0 || name === 'csi-attacher') return ['--resync=1h'];
  return name !== undefined && resyncing.includes(name) ? ['--resync-period=1h'] : [];
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
  'csi-external-health-monitor-controller': healthMonitorLock,
  'volume-data-source-validator': () => validatorLock,
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
  'csi-external-health-monitor-controller': ['ControllerListVolumeHealth', 'ControllerGetVolumeHealth'],
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
