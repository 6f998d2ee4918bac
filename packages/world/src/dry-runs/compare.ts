// SPDX-License-Identifier: Apache-2.0
/** Compares, at one moment of a story, what dry runs say with what freshly started programs do. */
import { dryRun as attacher } from '@csi-sidecars/attacher/dry-run';
import { dryRun as provisioner, type ProvisionerDryLoop } from '@csi-sidecars/provisioner/dry-run';
import { dryRun as resizer } from '@csi-sidecars/resizer/dry-run';
import {
  createApiClient,
  csiNodes,
  type KubeObject,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type Resource,
  silentLogger,
  storageClasses,
  volumeAttachments,
  volumeAttributesClasses,
} from '@csi-sidecars/runtime';
import { createSchedule, type Schedule } from '@csi-sidecars/runtime/testing';
import type { DryRunResult, DryWorld } from '@csi-sidecars/sidecar';
import {
  dryRun as snapshotController,
  type SnapshotControllerDryLoop,
} from '@csi-sidecars/snapshot-controller/dry-run';
import { dryRun as snapshotter } from '@csi-sidecars/snapshotter/dry-run';
import {
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import type { DriverActor } from '../driver.ts';
import { nodeIdOf, nodeName } from '../names.ts';
import { argsOf, type ProgramName, type ReporterName } from '../programs.ts';
import { segmentsOf } from '../topology.ts';
import type { World } from '../world.ts';
import { type Decided, lookOnce } from './fresh-leader.ts';

export interface Comparison {
  /** Keys that a fresh leader looked at, or for which a dry run has a row. */
  readonly keys: number;
  /** How many keys came to which row, by program: `csi-provisioner C22`. */
  readonly rows: readonly string[];
  readonly differences: readonly string[];
}

const kinds: readonly Resource[] = [
  persistentVolumeClaims,
  persistentVolumes,
  volumeAttachments,
  storageClasses,
  volumeAttributesClasses,
  nodes,
  csiNodes,
  pods,
  volumeSnapshots,
  volumeSnapshotContents,
  volumeSnapshotClasses,
  volumeGroupSnapshots,
  volumeGroupSnapshotContents,
  volumeGroupSnapshotClasses,
];

/** Stories of dry runs have no programs that only report. */
type Subjects = Exclude<ProgramName, ReporterName>;
const isSubject = (name: ProgramName): name is Subjects =>
  name !== 'csi-external-health-monitor-controller' && name !== 'volume-data-source-validator';

interface Subject {
  readonly name: Subjects;
  readonly actor: DriverActor;
  readonly onNode: number | undefined;
}

/** The story stands still meanwhile, and is not changed. */
export async function compareNow(world: World): Promise<Comparison> {
  const found = { keys: 0, rows: [] as string[], differences: [] as string[] };
  for (const subject of subjectsOf(world)) {
    const { keys, rows, differences } = await compareSubject(world, subject);
    found.keys += keys;
    found.rows.push(...rows);
    found.differences.push(...differences);
  }
  return found;
}

function subjectsOf({ story: { shape }, drivers }: World): readonly Subject[] {
  const onNodes: readonly Subjects[] = [
    ...(shape.deployment === 'nodes' ? (['csi-provisioner'] as const) : []),
    ...(shape.snapshotsOnNodes ? (['csi-snapshotter'] as const) : []),
  ];
  const [main] = drivers;
  const ofDrivers = drivers.flatMap((actor) =>
    actor.programs
      .filter(isSubject)
      .flatMap((name): readonly Subject[] =>
        actor === main && onNodes.includes(name)
          ? Array.from({ length: shape.nodes }, (_, onNode) => ({ name, actor, onNode }))
          : [{ name, actor, onNode: undefined }],
      ),
  );
  return [...ofDrivers, { name: 'snapshot-controller', actor: main, onNode: undefined }];
}

/** The arguments of the story, without an election, with the rows in the log, and so many workers that no key waits for another one. */
function leaderArgs({ story: { shape } }: World, { name, onNode }: Subject): readonly string[] {
  return [
    ...argsOf([name], shape, onNode),
    '--leader-election=false',
    '--v=5',
    '--kube-api-qps=-1',
    name === 'csi-resizer' ? '--workers=1000' : '--worker-threads=1000',
  ];
}

async function compareSubject(world: World, subject: Subject): Promise<Comparison> {
  const { name, actor, onNode } = subject;
  const args = leaderArgs(world, subject);
  const { settings } = actor.model;
  const { transport } = world.sim.server;
  const { decisions, actions } = await lookOnce(await scheduleOf(world), { name, args, onNode, settings, transport });
  const ask = asking(await scheduleOf(world), world, { ...subject, args });
  const ids = new Set([...idsOf(world, subject), ...decisions.keys()]);
  const rows: string[] = [];
  const differences: string[] = [];
  const left = [...actions];
  for (const id of ids) {
    const decided = decisions.get(id);
    const answer = await ask(id);
    if (decided === undefined && leavesAlone(answer)) continue;
    rows.push(`${name} ${answer.row}`);
    const [expected, found] = [textOf(decided ?? []), textOf(answer.rows)];
    if (hasLostTurn(decided, answer)) continue;
    const wanted = actionText(answer);
    const isDone = wanted === undefined || takeOut(left, wanted) || (mayWait(answer) && actions.includes(wanted));
    if (expected === found && isDone) continue;
    const at = `seed ${world.story.seed}, ${world.schedule.elapsedMs} ms, ${name}, ${id}`;
    const action = JSON.stringify(answer.action);
    differences.push(
      `${at}: the leader comes to [${expected}], the dry run to [${found}], ${action}; the leader has done ${actions.join(', ')}`,
    );
  }
  return { keys: rows.length, rows, differences };
}

/** The time of the story, which goes on from there without it. */
async function scheduleOf({ story, schedule: { elapsedMs } }: World): Promise<Schedule> {
  const schedule = createSchedule({ seed: story.seed });
  await schedule.advanceTo(elapsedMs);
  return schedule;
}

/** A leader that begins does not even look at what needs nothing. */
function leavesAlone({ action }: DryRunResult): boolean {
  return action.kind === 'none' || (action.kind === 'conclude' && action.outcome.kind === 'done');
}

/** Rows of csi-resizer: the other loop has a call for the volume, which a dry run of one key does not know (memory). */
const turnRows: ReadonlySet<string> = new Set(['E7', 'M11']);

/** The leader's run goes the way of the dry run until it finds that the volume is taken. */
function hasLostTurn(decided: readonly Decided[] = [], { rows }: DryRunResult): boolean {
  const [last] = decided.slice(-1);
  const before = decided.slice(0, -1);
  const isTurn = last !== undefined && last.action === 'conclude' && turnRows.has(last.row);
  return isTurn && before.length > 0 && textOf(before) === textOf(rows.slice(0, before.length));
}

/** Undefined: nothing is written or called. */
function actionText({ action }: DryRunResult): string | undefined {
  if (action.kind === 'call') return `call ${action.method}`;
  return action.kind === 'write' ? `${action.verb} ${action.resource}` : undefined;
}

/**
 * Steps that wait while another key writes to the same claim or source. Here that write gets no answer, so the step is begun and its own write
 * is not: a call in flight, which a dry run does not know (memory).
 */
const waitingSteps: ReadonlySet<string> = new Set(['protectClaim', 'releaseClaim', 'release', 'protectSource']);

function mayWait({ rows }: DryRunResult): boolean {
  return waitingSteps.has(rows.at(-1)?.action ?? '');
}

/** Whether it was there. */
function takeOut(actions: string[], wanted: string): boolean {
  const at = actions.indexOf(wanted);
  if (at >= 0) actions.splice(at, 1);
  return at >= 0;
}

function textOf(rows: readonly Decided[]): string {
  return rows.map(({ row, action }) => `${row} ${action}`).join(', ');
}

/** Queue and key of each object that a program may work on. */
function idsOf(world: World, { name, actor }: Subject): readonly string[] {
  const { objects } = world.sim.server;
  const ids = (queue: string, resource: Resource): readonly string[] =>
    objects.list(resource).map((object) => `${queue} ${keyText(object)}`);
  switch (name) {
    case 'csi-provisioner':
      return [
        ...objects.list(persistentVolumeClaims).map(({ metadata }) => `claims ${metadata?.uid}`),
        ...ids('volumes', persistentVolumes),
      ];
    case 'csi-attacher':
      return [...ids('csi-attacher-va', volumeAttachments), ...ids('csi-attacher-pv', persistentVolumes)];
    case 'csi-resizer':
      return ['pvc', 'pvc-modify'].flatMap((end) => ids(`${actor.name}-${end}`, persistentVolumeClaims));
    case 'csi-snapshotter':
      return [
        ...ids('csi-snapshotter-content', volumeSnapshotContents),
        ...ids('csi-snapshotter-groupsnapshotcontent', volumeGroupSnapshotContents),
      ];
    case 'snapshot-controller':
      return [
        ...ids('snapshot-controller-snapshot', volumeSnapshots),
        ...ids('snapshot-controller-group-snapshot', volumeGroupSnapshots),
        ...ids('snapshot-controller-content', volumeSnapshotContents),
        ...ids('snapshot-controller-group-content', volumeGroupSnapshotContents),
        ...ids('snapshot-controller-claim', persistentVolumeClaims),
      ];
  }
}

type Ask = (id: string) => Promise<DryRunResult>;

function asking(
  schedule: Schedule,
  world: World,
  { name, actor, onNode, args }: Subject & { readonly args: readonly string[] },
): Ask {
  const { transport, objects } = world.sim.server;
  const { clock, random } = schedule.process('dry runs');
  const limits = { qps: -1, burst: 0, userAgent: 'dry-run' };
  const dryWorld: DryWorld = {
    objects: kinds.map((resource) => ({ resource, objects: objects.list(resource) })),
    read: createApiClient({ transport, clock, logger: silentLogger }, limits),
    clock,
    random,
  };
  const driver = actor.info;
  const node = onNode === undefined ? undefined : nodeOf(onNode, world);
  const asks: Readonly<Record<Subjects, (queue: string, key: string) => Promise<DryRunResult>>> = {
    'csi-provisioner': (queue, key) =>
      provisioner(dryWorld, { loop: queue as ProvisionerDryLoop, key, args, driver, node }),
    'csi-attacher': (queue, key) =>
      attacher(dryWorld, { loop: queue.endsWith('-va') ? 'attachments' : 'volumes', key, args, driver }),
    'csi-resizer': (queue, key) =>
      resizer(dryWorld, {
        loop: queue.endsWith('-modify') ? 'modify' : 'expand',
        key,
        args,
        driver: { ...driver, expansion: 'controller' },
      }),
    'csi-snapshotter': (queue, key) =>
      snapshotter(dryWorld, {
        loop: queue.endsWith('groupsnapshotcontent') ? 'groupContents' : 'contents',
        key,
        args,
        driver,
        servesGroups: true,
        nodeName: node?.name,
      }),
    'snapshot-controller': (queue, key) =>
      snapshotController(dryWorld, { loop: snapshotLoops[queue] ?? 'claims', key, args, servesGroups: true }),
  };
  return (id) => {
    const [queue = '', key = ''] = id.split(' ');
    return asks[name](queue, key);
  };
}

const snapshotLoops: Readonly<Record<string, SnapshotControllerDryLoop>> = {
  'snapshot-controller-snapshot': 'snapshots',
  'snapshot-controller-group-snapshot': 'groupSnapshots',
  'snapshot-controller-content': 'contents',
  'snapshot-controller-group-content': 'groupContents',
  'snapshot-controller-claim': 'claims',
};

function nodeOf(
  onNode: number,
  { story: { shape } }: World,
): { readonly name: string; readonly id: string; readonly segments: Readonly<Record<string, string>> } {
  const name = nodeName(onNode);
  return { name, id: nodeIdOf(name), segments: segmentsOf(onNode, shape) };
}

function keyText({ metadata }: KubeObject): string {
  const { namespace, name = '' } = metadata ?? {};
  return namespace === undefined ? name : `${namespace}/${name}`;
}
