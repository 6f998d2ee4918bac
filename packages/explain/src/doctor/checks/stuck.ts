// SPDX-License-Identifier: Apache-2.0
/** Part stuck: objects that wait, by what they wait for. Whose a finalizer is: facts/finalizers.ts. */
import { driverOfProvisioningFinalizer } from '@csi-sidecars/provisioner';
import { type KnownFinalizer, inOrder, isAttacherOf } from '../../facts/finalizers.ts';
import { isProgram, type ObjectName, type Program } from '../../verdict.ts';
import { type Check, clusterCheck, driverCheck, factOf, type Judgement, problem, textOf } from '../check.ts';
import { counted, explainOf, ofDriver, timeText, yamlOf } from './wording.ts';
import type { Leading, Readings, Workloads } from '../readings/facts.ts';

interface Held {
  readonly object: ObjectName;
  readonly deletedMs: number;
  readonly finalizer: KnownFinalizer;
  /** Undefined: the object does not say. */
  readonly driver: string | undefined;
}

const kinds = [
  { key: 'claims', kind: 'PersistentVolumeClaim', word: 'pvc' },
  { key: 'volumes', kind: 'PersistentVolume', word: 'pv' },
  { key: 'attachments', kind: 'VolumeAttachment', word: 'volumeattachment' },
  { key: 'contents', kind: 'VolumeSnapshotContent', word: 'volumesnapshotcontent' },
  { key: 'snapshots', kind: 'VolumeSnapshot', word: 'volumesnapshot' },
] as const;

type Objects = Pick<Readings, (typeof kinds)[number]['key']>;
const objectReads = kinds.map(({ key }) => key);

const stuckAfterMs = 600_000;

/** What waits for the same finalizer of the same driver, oldest first. */
function heldOf(read: Objects, nowMs: number): readonly (readonly [Held, ...Held[]])[] {
  const all = kinds.flatMap(({ key, kind }) =>
    read[key].flatMap((each): readonly Held[] => {
      const [finalizer] = inOrder(each.finalizers);
      const { deletedMs, namespace, name } = each;
      if (deletedMs === undefined || nowMs - deletedMs < stuckAfterMs || finalizer === undefined) return [];
      const driver = ('driver' in each ? each.driver : undefined) ?? driverOfProvisioningFinalizer(finalizer.name);
      return [{ object: { kind, namespace, name }, deletedMs, finalizer, driver }];
    }),
  );
  const groups = Map.groupBy(all, ({ finalizer, driver = '', object }) => `${finalizer.name} ${driver} ${object.kind}`);
  return [...groups.values()].flatMap((group) => {
    const [first, ...rest] = group.toSorted((left, right) => left.deletedMs - right.deletedMs);
    return first === undefined ? [] : [[first, ...rest] as const];
  });
}

interface Owner {
  readonly program: Program;
  /** Undefined: that is not known. */
  readonly runs: boolean | undefined;
  readonly because: string;
}

function ownerOf({ finalizer, driver }: Held, workloads: Workloads, leading: readonly Leading[]): Owner | undefined {
  const { owner } = finalizer;
  if (!isProgram(owner)) return undefined;
  // The finalizer of csi-attacher names the driver in another spelling, and a claim may name none.
  const isOfCluster = owner === 'snapshot-controller';
  const own = isOfCluster ? workloads.all : driver === undefined ? workloads.all : workloads.of(driver);
  const isInstalled = own.some(
    ({ sidecars, replicas }) => replicas > 0 && sidecars.some(({ program }) => program === owner),
  );
  const leaders = leading.filter(
    (each) =>
      each.program === owner &&
      (isOfCluster || driver === undefined || each.driver === driver) &&
      (finalizer.kind !== 'attacher' || each.driver === undefined || isAttacherOf(finalizer.name, each.driver)),
  );
  const lives = leaders.some(({ leader }) => leader?.kind === 'lives' || leader?.kind === 'unknown');
  if (lives) return { program: owner, runs: true, because: 'its Lease is renewed' };
  const dead = leaders.find(({ leader }) => leader?.kind === 'dead')?.leader;
  if (dead?.kind === 'dead') return { program: owner, runs: false, because: dead.because };
  return isInstalled
    ? { program: owner, runs: undefined, because: 'it is installed and has no Lease' }
    : { program: owner, runs: false, because: 'no workload and no Lease of it was found' };
}

function wordOf({ kind }: ObjectName): string {
  return kinds.find((each) => each.kind === kind)?.word ?? kind.toLowerCase();
}

const ownerless: Check = clusterCheck({
  id: 'stuck-1',
  severity: 'error',
  wrong:
    'objects wait for more than 10 minutes to be deleted, and the program that takes the finalizer off does not run',
  mend: 'run the program; where its driver is gone for good, see `csi-sidecars leftovers`',
  causes: ['lease-1', 'lease-2', 'pod-1', 'pod-8'],
  reads: [...objectReads, 'workloads', 'leading'],
  judge: (read, { nowMs }) =>
    heldOf(read, nowMs).flatMap((group): readonly Judgement[] => {
      const [first] = group;
      const owner = ownerOf(first, read.workloads, read.leading);
      if (owner === undefined || owner.runs !== false) return [];
      return [
        problem(
          `${counted(group.length, first.object.kind)} cannot be deleted: ${owner.program}${ofDriver(first.driver)} does not run (${owner.because})`,
          {
            driver: first.driver,
            program: owner.program,
            objects: group.map(({ object }) => object),
            evidence: [
              factOf(textOf(first.object), 'metadata.finalizers', first.finalizer.name),
              factOf('Leases and workloads', owner.program, owner.because),
            ],
            look: explainOf(wordOf(first.object), first.object),
          },
        ),
      ];
    }),
});

const waiting: Check = clusterCheck({
  id: 'stuck-2',
  severity: 'warn',
  wrong: 'objects wait for more than 10 minutes to be deleted, and the program that takes the finalizer off runs',
  mend: 'what explain says of the oldest',
  reads: [...objectReads, 'workloads', 'leading'],
  judge: (read, { nowMs }) =>
    heldOf(read, nowMs).flatMap((group): readonly Judgement[] => {
      const [first] = group;
      const { finalizer } = first;
      const owner = ownerOf(first, read.workloads, read.leading);
      if (finalizer.kind === 'foreign' || owner?.runs === false) return [];
      return [
        problem(
          `${counted(group.length, first.object.kind)} waiting to be deleted for ${finalizer.owner}: ${finalizer.name}`,
          {
            driver: first.driver,
            program: owner?.program,
            objects: group.map(({ object }) => object),
            evidence: [
              factOf(textOf(first.object), 'metadata.finalizers', finalizer.name),
              factOf(textOf(first.object), 'metadata.deletionTimestamp', timeText(first.deletedMs)),
            ],
            look: explainOf(wordOf(first.object), first.object),
          },
        ),
      ];
    }),
});

const foreign: Check = clusterCheck({
  id: 'stuck-3',
  severity: 'warn',
  wrong:
    'objects wait for more than 10 minutes to be deleted, for a finalizer that is neither of Kubernetes nor of CSI',
  mend: 'what the owner of the finalizer waits for',
  reads: objectReads,
  judge: (read, { nowMs }) =>
    heldOf(read, nowMs).flatMap((group): readonly Judgement[] => {
      const [first] = group;
      const { finalizer } = first;
      if (finalizer.kind !== 'foreign') return [];
      return [
        problem(
          `${counted(group.length, first.object.kind)} waiting to be deleted for finalizer ${finalizer.name} (guess: of ${finalizer.guess})`,
          {
            driver: first.driver,
            objects: group.map(({ object }) => object),
            evidence: [
              factOf(textOf(first.object), 'metadata.finalizers', finalizer.name),
              factOf(textOf(first.object), 'metadata.deletionTimestamp', timeText(first.deletedMs)),
            ],
            look: yamlOf(first.object),
          },
        ),
      ];
    }),
});

const hourMs = 3_600_000;

const released: Check = driverCheck({
  id: 'stuck-4',
  severity: 'warn',
  wrong: 'volumes whose claim is gone have been there for more than an hour, and are to be deleted',
  mend: 'what explain says of the oldest',
  causes: ['lease-1', 'lease-2', 'pod-1', 'pod-8', 'stuck-1'],
  reads: ['volumes'],
  judge: (driver, { volumes }, { nowMs }) => {
    const old = volumes
      .filter(
        ({ driver: of, phase, isDeletedWithClaim, phaseSinceMs = nowMs, deletedMs }) =>
          of === driver.name &&
          (phase === 'Released' || phase === 'Failed') &&
          isDeletedWithClaim &&
          nowMs - phaseSinceMs > hourMs &&
          // stuck-1 and stuck-2 have them.
          deletedMs === undefined,
      )
      .toSorted((left, right) => (left.phaseSinceMs ?? 0) - (right.phaseSinceMs ?? 0));
    const [first] = old;
    if (first === undefined) return [];
    const name = { kind: 'PersistentVolume', name: first.name };
    return [
      problem(
        `${counted(old.length, 'volume')} of ${driver.name} ${first.phase} for more than an hour, and not deleted`,
        {
          program: 'csi-provisioner',
          objects: old.map((each) => ({ kind: 'PersistentVolume', name: each.name })),
          evidence: [
            factOf(textOf(name), 'status.phase', `${first.phase} since ${timeText(first.phaseSinceMs)}`),
            factOf(textOf(name), 'spec.persistentVolumeReclaimPolicy', 'Delete'),
          ],
          look: explainOf('pv', name),
        },
      ),
    ];
  },
});

const pending: Check = clusterCheck({
  id: 'stuck-6',
  severity: 'info',
  wrong: 'claims have waited for a volume for more than an hour',
  mend: 'what explain says of the oldest',
  reads: ['claims'],
  judge: ({ claims }, { nowMs }) => {
    const old = claims
      .filter(
        ({ phase, createdMs = nowMs, deletedMs }) =>
          phase === 'Pending' && deletedMs === undefined && nowMs - createdMs > hourMs,
      )
      .toSorted((left, right) => (left.createdMs ?? 0) - (right.createdMs ?? 0));
    return [...Map.groupBy(old, ({ className = '' }) => className)].flatMap(
      ([className, group]): readonly Judgement[] => {
        const [first] = group;
        if (first === undefined) return [];
        const name = { kind: 'PersistentVolumeClaim', namespace: first.namespace, name: first.name };
        return [
          problem(
            `${counted(group.length, 'claim')} of ${className === '' ? 'no class' : `class ${className}`} pending for more than an hour`,
            {
              driver: first.provisioner,
              objects: group.map((each) => ({
                kind: 'PersistentVolumeClaim',
                namespace: each.namespace,
                name: each.name,
              })),
              evidence: [
                factOf(textOf(name), 'status.phase', 'Pending'),
                factOf(textOf(name), 'metadata.creationTimestamp', timeText(first.createdMs)),
              ],
              look: explainOf('pvc', name),
            },
          ),
        ];
      },
    );
  },
});

const backlogMs = 300_000;

const backlog: Check = driverCheck({
  id: 'stuck-7',
  severity: 'warn',
  wrong: 'VolumeAttachments have had no status for more than five minutes',
  mend: 'what explain says of the oldest',
  causes: ['driver-2', 'lease-1', 'lease-2', 'pod-1', 'pod-8', 'rights-2'],
  reads: ['attachments'],
  judge: (driver, { attachments }, { nowMs }) => {
    const old = attachments
      .filter(
        ({ driver: of, hasStatus, deletedMs, createdMs = nowMs }) =>
          of === driver.name && !hasStatus && deletedMs === undefined && nowMs - createdMs > backlogMs,
      )
      .toSorted((left, right) => (left.createdMs ?? 0) - (right.createdMs ?? 0));
    const [first] = old;
    if (first === undefined) return [];
    const name = { kind: 'VolumeAttachment', name: first.name };
    return [
      problem(
        `${counted(old.length, 'VolumeAttachment')} of ${driver.name} without status for more than five minutes`,
        {
          program: 'csi-attacher',
          objects: old.map((each) => ({ kind: 'VolumeAttachment', name: each.name })),
          evidence: [
            factOf(textOf(name), 'status', undefined),
            factOf(textOf(name), 'metadata.creationTimestamp', timeText(first.createdMs)),
          ],
          look: explainOf('volumeattachment', name),
        },
      ),
    ];
  },
});

export const stuckChecks: readonly Check[] = [ownerless, waiting, foreign, released, pending, backlog];
