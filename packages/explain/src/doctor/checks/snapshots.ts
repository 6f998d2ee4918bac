// SPDX-License-Identifier: Apache-2.0
/** Part snap: classes of snapshots, and who takes them. */
import { driverParametersOf, snapshotAnnotations } from '@csi-sidecars/volume';
import { annotationOf, nameOf } from '../../facts/objects.ts';
import { type Check, clusterCheck, driverCheck, factOf, type Judgement, problem, textOf } from '../check.ts';
import { namesOfDrivers } from '../readings/drivers.ts';
import { isOn, running } from '../readings/sidecars.ts';
import { missingSecrets, templateMistakes } from './classes.ts';
import { isLed } from './driver-objects.ts';
import { calledBy, counted, explainOf, flagFact, timeText, yamlOf } from './wording.ts';

const className = (name: string) => ({ kind: 'VolumeSnapshotClass', name });

const foreign: Check = clusterCheck({
  id: 'snap-1',
  severity: 'error',
  wrong: 'a VolumeSnapshotClass is of a driver that has neither a CSIDriver nor a csi-snapshotter',
  mend: 'install the driver, or make the class again with the right name',
  reads: ['snapshotClasses', 'csiDrivers', 'registrations', 'workloads', 'leading'],
  judge: ({ snapshotClasses, csiDrivers, registrations, workloads, leading }) => {
    const known = namesOfDrivers({ csiDrivers, registrations });
    return snapshotClasses.flatMap((each): readonly Judgement[] => {
      const { driver = '' } = each;
      const facts = { name: driver, object: undefined };
      const isServed =
        running(workloads.of(driver), 'csi-snapshotter').length > 0 || isLed(leading, facts, 'csi-snapshotter');
      if (known.has(driver) || isServed) return [];
      const object = className(nameOf(each));
      return [
        problem(`VolumeSnapshotClass ${object.name} is of ${driver}, which is no driver of this cluster`, {
          driver,
          objects: [object],
          evidence: [factOf(textOf(object), 'driver', driver), factOf('CSIDrivers and CSINodes', driver, 'none')],
          look: yamlOf(object),
        }),
      ];
    });
  },
});

const defaults: Check = driverCheck({
  id: 'snap-2',
  severity: 'warn',
  wrong: 'none or several of the snapshot classes of a driver are the default: a snapshot that names no class fails',
  mend: `set the annotation ${snapshotAnnotations.isDefaultClass} on one of them`,
  reads: ['snapshotClasses'],
  judge: (driver, { snapshotClasses }) => {
    const own = snapshotClasses.filter((each) => each.driver === driver.name);
    const marked = own.filter((each) => annotationOf(each, snapshotAnnotations.isDefaultClass) === 'true');
    const [first] = own;
    if (first === undefined || marked.length === 1) return [];
    const objects = (marked.length === 0 ? own : marked).map((each) => className(nameOf(each)));
    return [
      problem(
        marked.length === 0
          ? `no VolumeSnapshotClass of ${driver.name} is the default`
          : `${marked.length} VolumeSnapshotClasses of ${driver.name} are the default`,
        {
          objects,
          evidence: [
            factOf('VolumeSnapshotClasses', `of ${driver.name}`, own.map(nameOf).join(', ')),
            factOf('VolumeSnapshotClasses', snapshotAnnotations.isDefaultClass, marked.map(nameOf).join(', ')),
          ],
          look: ['kubectl', 'get', 'volumesnapshotclasses', '-o', 'yaml'],
        },
      ),
    ];
  },
});

const settleMs = 60_000;

const nobody: Check = clusterCheck({
  id: 'snap-3',
  severity: 'error',
  wrong: 'snapshots wait, and no snapshot-controller runs',
  mend: 'install snapshot-controller',
  reads: ['snapshots', 'workloads', 'leading'],
  judge: ({ snapshots, workloads, leading }, { nowMs }) => {
    const isRunning = running(workloads.all, 'snapshot-controller').some(({ workload }) => workload.replicas > 0);
    const leader = leading.find(({ program }) => program === 'snapshot-controller')?.leader;
    const isLedByOther = leader?.kind === 'lives' || leader?.kind === 'unknown' || leader?.kind === 'restarting';
    const waiting = snapshots.filter(({ hasStatus, createdMs = nowMs }) => !hasStatus && nowMs - createdMs > settleMs);
    const [first] = waiting.toSorted((left, right) => (left.createdMs ?? 0) - (right.createdMs ?? 0));
    if (first === undefined || isRunning || isLedByOther) return [];
    const name = { kind: 'VolumeSnapshot', namespace: first.namespace, name: first.name };
    return [
      problem(`${counted(waiting.length, 'snapshot')} without status, and no snapshot-controller runs`, {
        program: 'snapshot-controller',
        objects: waiting.map((each) => ({ kind: 'VolumeSnapshot', namespace: each.namespace, name: each.name })),
        evidence: [
          factOf(textOf(name), 'status', undefined),
          factOf('workloads and Leases', 'snapshot-controller', 'none'),
        ],
        look: explainOf('volumesnapshot', name),
      }),
    ];
  },
});

const parameters: Check = driverCheck({
  id: 'snap-4',
  severity: 'error',
  wrong:
    'the parameters of a snapshot class have an unknown key of csi.storage.k8s.io, or name a secret by half, or one that does not exist',
  mend: 'make the class again, or create the secret',
  reads: ['snapshotClasses', 'secrets'],
  judge: (driver, { snapshotClasses, secrets }) => [
    ...snapshotClasses
      .filter((each) => each.driver === driver.name)
      .flatMap((each): readonly Judgement[] => {
        const stripped = driverParametersOf(each.parameters ?? {});
        if (stripped.kind === 'ok') return [];
        const object = className(nameOf(each));
        return [
          problem(`VolumeSnapshotClass ${object.name}: ${stripped.message}`, {
            objects: [object],
            evidence: [
              factOf(textOf(object), 'parameters', Object.keys(each.parameters ?? {}).join(', ')),
              factOf(textOf(object), 'driver', driver.name),
            ],
            look: yamlOf(object),
          }),
        ];
      }),
    ...templateMistakes(driver, secrets, 'VolumeSnapshotClass'),
    ...missingSecrets(driver, secrets, 'VolumeSnapshotClass'),
  ],
});

const hourMs = 3_600_000;

const failing: Check = driverCheck({
  id: 'snap-5',
  severity: 'warn',
  wrong: 'contents of snapshots have an error that is older than an hour',
  mend: 'what explain says of the oldest',
  causes: ['lease-1', 'pod-1'],
  reads: ['contents'],
  judge: (driver, { contents }, { nowMs }) => {
    const old = contents
      .filter((each) => each.driver === driver.name && each.failedMs !== undefined && nowMs - each.failedMs > hourMs)
      .toSorted((left, right) => (left.failedMs ?? 0) - (right.failedMs ?? 0));
    const [first] = old;
    if (first === undefined) return [];
    const name = { kind: 'VolumeSnapshotContent', name: first.name };
    return [
      problem(`${counted(old.length, 'content')} of ${driver.name} failed: ${first.failure ?? ''}`, {
        program: 'csi-snapshotter',
        objects: old.map((each) => ({ kind: 'VolumeSnapshotContent', name: each.name })),
        evidence: [
          factOf(textOf(name), 'status.error.message', first.failure),
          factOf(textOf(name), 'status.error.time', timeText(first.failedMs)),
        ],
        look: explainOf('volumesnapshotcontent', name),
      }),
    ];
  },
});

const distributed: Check = driverCheck({
  id: 'snap-6',
  severity: 'warn',
  wrong:
    '--enable-distributed-snapshotting of snapshot-controller and --node-deployment of csi-snapshotter do not agree',
  mend: 'set both or neither',
  reads: ['workloads'],
  judge: (driver, { workloads }) => {
    const controller = running(workloads.all, 'snapshot-controller').find(({ sidecar }) => sidecar.arguments.isWhole);
    if (controller === undefined) return [];
    const isDistributed = isOn(controller.sidecar, 'enable-distributed-snapshotting');
    // Of a cluster with both kinds of drivers the flag is on, and those without nodes are served as well.
    return running(workloads.of(driver.name), 'csi-snapshotter')
      .filter(({ sidecar }) => isOn(sidecar, 'node-deployment') && !isDistributed)
      .map(({ workload, sidecar }) =>
        problem(`csi-snapshotter of ${driver.name} works for its node only, and snapshot-controller names no node`, {
          program: 'csi-snapshotter',
          objects: [workload.object, controller.workload.object],
          evidence: [
            flagFact(workload, sidecar, 'node-deployment'),
            factOf(calledBy(controller.workload), '--enable-distributed-snapshotting', isDistributed),
          ],
          look: yamlOf(controller.workload.object),
        }),
      );
  },
});

export const snapshotChecks: readonly Check[] = [foreign, defaults, nobody, parameters, failing, distributed];
