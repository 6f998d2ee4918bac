// SPDX-License-Identifier: Apache-2.0
/**
 * What the rows conclude about a subject. A row is the first one of the page `docs/behaviour/explain.md` whose condition holds. Times are
 * milliseconds since the epoch, on the clock of the API server.
 */

/** Who has to act next. */
export type Actor =
  | 'user'
  | 'administrator'
  | 'kube-scheduler'
  | 'kube-controller-manager'
  | Program
  | 'kubelet'
  | 'driver'
  | 'storage'
  | 'populator'
  | 'other'
  | 'nobody';

/** The programs whose Lease says whether they work: of a driver, and of the cluster. */
export type Program =
  | 'csi-provisioner'
  | 'csi-attacher'
  | 'csi-resizer'
  | 'csi-snapshotter'
  | 'csi-external-health-monitor-controller'
  | 'snapshot-controller'
  | 'volume-data-source-validator';

/** A program that answers requests in every pod, and elects no leader. */
export type Service = 'csi-snapshot-metadata';

export const programs: readonly Program[] = [
  'csi-provisioner',
  'csi-attacher',
  'csi-resizer',
  'csi-snapshotter',
  'csi-external-health-monitor-controller',
  'snapshot-controller',
  'volume-data-source-validator',
];

/** One runs in a cluster, whatever its drivers. */
export function isOfCluster(program: Program | Service): boolean {
  return program === 'snapshot-controller' || program === 'volume-data-source-validator';
}

export function isProgram(actor: Actor): actor is Program {
  return programs.some((program) => program === actor);
}

export type Row = `X${number}`;

/** 0: nothing is awaited. 3: a program works or waits. 4: a person is needed. 5: what is missing decides. 6: there is no subject. */
export type VerdictExit = 0 | 3 | 4 | 5 | 6;

export type StageId =
  | 'class'
  | 'schedule'
  | 'source'
  | 'provision'
  | 'record'
  | 'bind'
  | 'register'
  | 'attach'
  | 'stage'
  | 'use'
  | 'grow'
  | 'modify'
  | 'protect'
  | 'release'
  | 'detach'
  | 'delete'
  | 'forget'
  | 'exists'
  | 'node id'
  | 'status'
  | 'finalizer'
  | 'content'
  | 'create'
  | 'ready'
  | 'source free'
  | 'content gone'
  | 'members';

/** The object that a sentence is about. */
export interface ObjectName {
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid?: string | undefined;
}

/** The newest failure that concerns what is awaited. */
export interface Failure {
  readonly text: string;
  /** Of gRPC. */
  readonly code: number | undefined;
  readonly atMs: number | undefined;
  readonly firstMs: number | undefined;
  /** At least that many. */
  readonly count: number;
  readonly reason: string | undefined;
  /** The component that reported it. */
  readonly source: string | undefined;
  readonly object: ObjectName;
}

export interface Since {
  readonly atMs: number;
  /** It may be longer: the events of the beginning are gone. */
  readonly isAtLeast?: boolean;
}

export type Retry =
  | {
      readonly will: 'yes';
      readonly earliestMs: number | undefined;
      readonly latestMs: number | undefined;
      readonly because: string;
      /** The program itself has said so. */
      readonly isExact?: boolean;
    }
  | { readonly will: 'no' | 'unknown'; readonly because: string }
  | { readonly will: 'onChange'; readonly because: string };

export interface Change {
  readonly what: string;
  readonly object: ObjectName | undefined;
  readonly field: string | undefined;
}

export interface Risk {
  readonly level: 'none' | 'possible' | 'certain' | 'unknown';
  readonly of: 'leak' | 'loss' | 'corruption' | undefined;
  /** What a person might do that makes it happen. */
  readonly ifYou: string | undefined;
  readonly sentence: string;
}

/** One command that looks further. It never changes anything. */
export interface NextCommand {
  readonly argv: readonly string[];
  readonly sentence: string;
}

export interface Verdict {
  readonly row: Row;
  readonly exit: VerdictExit;
  readonly actor: Actor;
  /** Who acts after that actor. */
  readonly thenActor?: Actor | undefined;
  /** What is being waited for. Undefined: nothing. */
  readonly stage: StageId | undefined;
  /** What the actor works on, if it is not the subject itself. */
  readonly workedOn?: ObjectName | undefined;
  readonly sentence: string;
  readonly node?: string | undefined;
  readonly since?: Since | undefined;
  readonly failure?: Failure | undefined;
  readonly retry?: Retry | undefined;
  readonly changes?: readonly Change[];
  readonly risk?: Risk;
  readonly next?: NextCommand | undefined;
  /** Ids of doctor's checks that this one has seen failing. */
  readonly findings?: readonly string[];
  readonly related?: readonly (ObjectName & { readonly why: string })[];
  /** What was learned of the actor. */
  readonly liveness?: Liveness | undefined;
}

/** Whether the actor lives. `no` and `yes` need a reason that was read; everything else is unknown. */
export interface Liveness {
  readonly alive: 'yes' | 'no' | 'unknown';
  readonly because: string;
  readonly pod?: string | undefined;
  readonly namespace?: string | undefined;
  /** Of its container, variables expanded. Undefined: not known. */
  readonly args?: readonly string[] | undefined;
  /** The name of its Lease. Undefined: it has none, or is no program with one. */
  readonly lease?: string | undefined;
  /** The name of its container. Undefined: not known. */
  readonly container?: string | undefined;
  /** The tag of its image. Undefined: not known. */
  readonly version?: string | undefined;
}

export const noRisk: Risk = { level: 'none', of: undefined, ifYou: undefined, sentence: 'none' };

/** Which of several verdicts is shown first: 4, 5, 3, 0. */
const urgency: Readonly<Record<VerdictExit, number>> = { 6: 4, 4: 3, 5: 2, 3: 1, 0: 0 };

/** From the class to the pod that uses the volume. */
const stageOrder: readonly (StageId | undefined)[] = [
  'class',
  'schedule',
  'source',
  'provision',
  'record',
  'bind',
  'register',
  'node id',
  'attach',
  'stage',
  'use',
];

/** The most urgent one; among equals that of the earlier stage, then the first one. */
export function worst<V extends Pick<Verdict, 'exit' | 'stage'>>(verdicts: readonly V[]): V | undefined {
  return verdicts.toSorted(
    (left, right) =>
      urgency[right.exit] - urgency[left.exit] || stageOrder.indexOf(left.stage) - stageOrder.indexOf(right.stage),
  )[0];
}
