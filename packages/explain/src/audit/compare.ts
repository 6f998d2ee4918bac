// SPDX-License-Identifier: Apache-2.0
/** One pass: the driver's list, what the cluster records, and what both say about each other. */
import {
  type Answer,
  compareAttachments,
  compareSnapshots,
  compareVolumes,
  type Earlier,
  type Finding,
  pairOf,
} from '@csi-sidecars/volume';
import type { Reader } from '../cluster/reader.ts';
import { type ClusterList, isStillBound, type Part, usersOf } from './cluster-list.ts';
import type { AuditKind } from './audit-flags.ts';
import { type Ask, type DriverLists, type DriverSource, notAsked } from './driver-list.ts';

export interface NotRun {
  readonly kind: AuditKind;
  readonly because: string;
  /** What was missing was to be read: with it there might be findings. */
  readonly isUnread: boolean;
}

export interface Compared {
  readonly findings: readonly FindingWithUsers[];
  readonly foreign: number;
  readonly notRun: readonly NotRun[];
  /** Sentences about lists that are not whole. */
  readonly incomplete: readonly { readonly kind: AuditKind; readonly because: string }[];
  readonly entries: { readonly volumes: number; readonly snapshots: number };
  /** What the next pass knows of this one. */
  readonly seen: Seen;
}

export interface FindingWithUsers extends Finding {
  readonly pods?: readonly string[];
}

/** What an earlier pass saw. */
export interface Seen {
  readonly keys: Earlier;
  readonly recorded: ReadonlySet<string>;
  readonly attached: ReadonlySet<string>;
}

export const nothingSeen: Seen = { keys: new Set(), recorded: new Set(), attached: new Set() };

export interface CompareOptions {
  readonly kinds: ReadonlySet<AuditKind>;
  readonly graceMs: number;
  readonly handlePrefix: string;
  readonly earlier: Seen;
  /** How many handles the driver may be asked for. */
  readonly calls: number;
  readonly signal: AbortSignal;
}

export interface ComparePorts {
  readonly reader: Reader;
  readonly source: Pick<DriverSource, 'askVolume' | 'askSnapshot'>;
}

/** What is compared. */
export interface Sides {
  readonly lists: DriverLists;
  readonly cluster: ClusterList;
}

const suspicious = 'it has less than half of what the cluster records: the driver seems to list a part';

export async function compare(ports: ComparePorts, sides: Sides, options: CompareOptions): Promise<Compared> {
  const { lists, cluster } = sides;
  const notRun: NotRun[] = [];
  const incomplete: { kind: AuditKind; because: string }[] = [];
  const budget = { left: options.calls };
  const findings: Finding[] = [];
  const volumes = await volumesOf(ports, sides, { ...options, budget, notRun, incomplete });
  findings.push(...volumes.findings);
  findings.push(...attachmentsOf(lists, cluster, { ...options, notRun }));
  findings.push(...(await snapshotsOf(ports, sides, { ...options, budget, notRun, incomplete })));
  return {
    findings: await withUsers(ports.reader, findings),
    foreign: volumes.foreign,
    notRun,
    incomplete,
    entries: {
      volumes: lists.volumes.kind === 'listed' ? lists.volumes.list.entries.size : 0,
      snapshots: lists.snapshots.kind === 'listed' ? lists.snapshots.list.entries.size : 0,
    },
    seen: {
      keys: new Set(findings.flatMap(({ key }) => key ?? [])),
      recorded: new Set(valueOf(cluster.volumes).map(({ handle }) => handle)),
      attached: new Set(
        valueOf(cluster.attachments).flatMap(({ handle, nodeId }) =>
          nodeId === undefined ? [] : pairOf(handle, nodeId),
        ),
      ),
    },
  };
}

interface Step extends CompareOptions {
  readonly budget: { left: number };
  readonly notRun: NotRun[];
  readonly incomplete: { kind: AuditKind; because: string }[];
}

function valueOf<T>(part: Part<readonly T[]>): readonly T[] {
  return part.kind === 'read' ? part.value : [];
}

async function volumesOf(
  { reader, source }: ComparePorts,
  { lists: { volumes }, cluster }: Sides,
  { kinds, graceMs, handlePrefix, earlier, budget, notRun, incomplete, signal }: Step,
): Promise<{ readonly findings: readonly Finding[]; readonly foreign: number }> {
  const none = { findings: [], foreign: 0 };
  if (!kinds.has('volumes')) return none;
  if (volumes.kind === 'notRun') {
    notRun.push({ kind: 'volumes', because: volumes.because, isUnread: false });
    return none;
  }
  if (cluster.volumes.kind === 'unread') {
    notRun.push(unread('volumes', 'persistentvolumes', cluster.volumes.because));
    return none;
  }
  if (volumes.incomplete !== undefined) incomplete.push({ kind: 'volumes', because: volumes.incomplete });
  const recorded = cluster.volumes.value;
  const handles = new Set(recorded.map(({ handle }) => handle));
  const recentlyRecorded = new Set([...earlier.recorded].filter((handle) => !handles.has(handle)));
  const run = (answers: ReadonlyMap<string, Answer>): ReturnType<typeof compareVolumes> =>
    compareVolumes({
      list: volumes.list,
      recorded,
      otherwiseNamed: new Set(valueOf(cluster.attachments).map(({ handle }) => handle)),
      // Without the attachments a volume inside a pod may be named by one of them.
      openWork:
        cluster.attachments.kind === 'unread' && cluster.openWork.kind === 'none'
          ? { kind: 'unknown' }
          : cluster.openWork,
      snapshotSources: cluster.snapshotSources,
      recentlyRecorded,
      answers,
      rules: { graceMs, handlePrefix },
      earlier: earlier.keys,
    });
  const first = run(new Map());
  if (first.isSuspicious) incomplete.push({ kind: 'volumes', because: suspicious });
  const answers = await answersOf(first.toAsk, { ask: source.askVolume, budget, signal });
  if (answers.size === 0) return first;
  for (const [handle, answer] of answers) {
    // The volume may have been deleted since the PersistentVolumes were read.
    const volume = recorded.find((each) => each.handle === handle);
    if (answer === 'notFound' && volume !== undefined && !(await isStillBound(reader, volume.name)))
      answers.delete(handle);
  }
  return run(answers);
}

function attachmentsOf(
  { volumes, hasPublishedNodes }: DriverLists,
  { attachments, nodeIds, volumes: recorded }: ClusterList,
  { kinds, graceMs, earlier, notRun }: Pick<Step, 'kinds' | 'graceMs' | 'earlier' | 'notRun'>,
): readonly Finding[] {
  if (!kinds.has('attachments')) return [];
  if (volumes.kind === 'notRun' || !hasPublishedNodes) {
    const because =
      volumes.kind === 'notRun' ? volumes.because : 'the driver does not have LIST_VOLUMES_PUBLISHED_NODES';
    notRun.push({ kind: 'attachments', because, isUnread: false });
    return [];
  }
  if (attachments.kind === 'unread') notRun.push(unread('attachments', 'volumeattachments', attachments.because));
  else if (nodeIds.kind === 'unread') notRun.push(unread('attachments', 'csinodes', nodeIds.because));
  else if (recorded.kind === 'unread') notRun.push(unread('attachments', 'persistentvolumes', recorded.because));
  else {
    const handles = new Set([...recorded.value, ...attachments.value].map(({ handle }) => handle));
    const now = new Set(attachments.value.map(({ handle, nodeId }) => pairOf(handle, nodeId ?? '')));
    return compareAttachments({
      list: volumes.list,
      isRecorded: (handle) => handles.has(handle),
      attachments: attachments.value,
      nodeIds: nodeIds.value,
      recentlyAttached: new Set([...earlier.attached].filter((pair) => !now.has(pair))),
      rules: { graceMs },
      earlier: earlier.keys,
    });
  }
  return [];
}

async function snapshotsOf(
  { source }: ComparePorts,
  { lists: { snapshots, volumes }, cluster }: Sides,
  { kinds, graceMs, earlier, budget, notRun, incomplete, signal }: Step,
): Promise<readonly Finding[]> {
  if (!kinds.has('snapshots')) return [];
  if (snapshots.kind === 'notRun') {
    if (snapshots.because !== notAsked) notRun.push({ kind: 'snapshots', because: snapshots.because, isUnread: false });
    return [];
  }
  if (cluster.snapshots.kind === 'unread') {
    const { because } = cluster.snapshots;
    if (because === 'absent')
      notRun.push({ kind: 'snapshots', because: 'the cluster does not serve volumesnapshotcontents', isUnread: false });
    else notRun.push(unread('snapshots', 'volumesnapshotcontents', because));
    return [];
  }
  if (snapshots.incomplete !== undefined) incomplete.push({ kind: 'snapshots', because: snapshots.incomplete });
  const recorded = cluster.snapshots.value;
  const sources = new Set(valueOf(cluster.volumes).map(({ handle }) => handle));
  const list = volumes.kind === 'listed' && volumes.incomplete === undefined ? volumes.list : undefined;
  const run = (answers: ReadonlyMap<string, Answer>): ReturnType<typeof compareSnapshots> =>
    compareSnapshots({
      list: snapshots.list,
      recorded,
      members: cluster.members,
      openWork: cluster.snapshotWork,
      hasVolume:
        list === undefined || cluster.volumes.kind === 'unread'
          ? undefined
          : (handle) => list.entries.has(handle) || sources.has(handle),
      answers,
      rules: { graceMs },
      earlier: earlier.keys,
    });
  const first = run(new Map());
  if (first.isSuspicious) incomplete.push({ kind: 'snapshots', because: suspicious });
  const answers = await answersOf(first.toAsk, { ask: source.askSnapshot, budget, signal });
  return answers.size === 0 ? first.findings : run(answers).findings;
}

function unread(kind: AuditKind, resource: string, because: string): NotRun {
  return { kind, because: `${resource} could not be read to the end: ${because}`, isUnread: true };
}

interface Asking {
  readonly ask: Ask | undefined;
  readonly budget: { left: number };
  readonly signal: AbortSignal;
}

/** One after another: the driver has other work. */
async function answersOf(handles: readonly string[], { ask, budget, signal }: Asking): Promise<Map<string, Answer>> {
  const answers = new Map<string, Answer>();
  if (ask === undefined) return answers;
  for (const handle of handles) {
    if (budget.left <= 0) break;
    budget.left -= 1;
    const answer = await ask(handle, signal);
    if (answer !== undefined) answers.set(handle, answer);
  }
  return answers;
}

/** Namespaces whose pods are read. */
const mostNamespaces = 10;

/** Names the pods that use a volume that is missing. */
async function withUsers(reader: Reader, findings: readonly Finding[]): Promise<readonly FindingWithUsers[]> {
  const namespaces = new Set<string>();
  const named: FindingWithUsers[] = [];
  for (const finding of findings) {
    const { claim } = finding;
    const isWanted = (finding.class === 'missing' || finding.class === 'unconfirmed') && claim !== undefined;
    if (isWanted && namespaces.size < mostNamespaces) namespaces.add(claim.namespace);
    named.push(
      isWanted && namespaces.has(claim.namespace) ? { ...finding, pods: await usersOf(reader, claim) } : finding,
    );
  }
  return named;
}
