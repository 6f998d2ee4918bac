// SPDX-License-Identifier: Apache-2.0
/**
 * What the program in charge would do with the object if it began now, by its own flow: a dry run over the objects that were read. It explains
 * the row of explain, and never overrules it.
 */
import { dryRun as attacher } from '@csi-sidecars/attacher/dry-run';
import { codeNames, type DriverInfo } from '@csi-sidecars/csi';
import { dryRun as provisioner } from '@csi-sidecars/provisioner/dry-run';
import { dryRun as resizer } from '@csi-sidecars/resizer/dry-run';
import { ApiError, type Clock, type KubeObject, type Random } from '@csi-sidecars/runtime';
import type { DryRunResult, DryWorld, RecordedFailure } from '@csi-sidecars/sidecar';
import { dryRun as snapshotController } from '@csi-sidecars/snapshot-controller/dry-run';
import { dryRun as snapshotter } from '@csi-sidecars/snapshotter/dry-run';
import type { Reader, Reading } from '../cluster/reader.ts';
import type { SubjectKind } from '../command/subject.ts';
import { isProgram, type Program, type Verdict } from '../verdict.ts';

export interface Decision {
  readonly program: Program;
  /** The page that has the row. */
  readonly page: string;
  /** Null: the program has nothing to do with the object. */
  readonly row: string | null;
  readonly sentence: string;
  readonly action: string;
  /** `told`: the leader itself reported it. */
  readonly origin: 'computed' | 'told';
  readonly assumed: readonly string[];
  /** Upstream's program has no such row. */
  readonly onlyOurs: boolean;
}

export interface Question {
  readonly kind: SubjectKind;
  readonly object: KubeObject;
  readonly verdict: Verdict;
  readonly driver: string | undefined;
  readonly attachRequired: boolean | undefined;
  /** Of the program in charge. Undefined: not known. */
  readonly args: readonly string[] | undefined;
}

export interface DecisionPorts {
  readonly reader: Reader;
  readonly clock: Clock;
  readonly random: Random;
}

const pages: Readonly<Record<Program, string>> = {
  'csi-provisioner': 'provisioner',
  'csi-attacher': 'attacher',
  'csi-resizer': 'resizer',
  'csi-snapshotter': 'csi-snapshotter',
  'csi-external-health-monitor-controller': 'health-monitor',
  'snapshot-controller': 'snapshot-controller',
  'volume-data-source-validator': 'data-source-validator',
};

/** The page that has the rows of the program. */
export function pageOf(program: Program): string {
  return `docs/behaviour/${pages[program]}.md`;
}

/** Rows of csi-provisioner that keep a volume from being lost, which upstream's does not have. */
const ours: ReadonlySet<string> = new Set([
  'C1',
  'C3',
  'C21',
  'C28',
  'C29',
  'C30',
  'C33',
  'C36',
  'C37',
  'C38',
  'C39',
  'C40',
  'C41',
]);

/** Undefined: no program is in charge, or its loop cannot be asked about this object. */
export async function decisionOf(ports: DecisionPorts, question: Question): Promise<Decision | undefined> {
  const { verdict } = question;
  if (verdict.exit === 0 || verdict.exit === 6) return undefined;
  const program = programOf(question);
  if (program === undefined) return undefined;
  const answer = await ask(ports, program, question).catch(() => undefined);
  if (answer === undefined) return undefined;
  const row = answer.row ?? null;
  const onlyOurs = program === 'csi-provisioner' && row !== null && ours.has(row);
  return {
    program,
    page: pageOf(program),
    row,
    sentence: onlyOurs ? 'would call CreateVolume again with the same name' : sentenceOf(answer),
    action: answer.action.kind,
    origin: 'computed',
    assumed: answer.assumed,
    onlyOurs,
  };
}

/** The one that acts, or that acts after a person or the driver has. */
export function programOf({
  verdict: { actor, thenActor, stage },
  kind,
}: Pick<Question, 'verdict' | 'kind'>): Program | undefined {
  const named = [actor, thenActor].find((each) => each !== undefined && isProgram(each));
  if (named !== undefined) return named;
  if (actor !== 'driver' && actor !== 'storage' && actor !== 'administrator') return undefined;
  if (stage === 'provision' || (kind === 'PersistentVolume' && stage === 'delete')) return 'csi-provisioner';
  if (kind === 'VolumeAttachment') return 'csi-attacher';
  return stage === 'grow' || stage === 'modify' ? 'csi-resizer' : undefined;
}

async function ask(ports: DecisionPorts, program: Program, question: Question): Promise<DryRunResult | undefined> {
  const { kind, object, verdict } = question;
  const { namespace = '', name = '', uid = '' } = object.metadata ?? {};
  const world = worldOf(ports, question);
  const shared = { args: question.args, failure: failureOf(verdict) };
  const key = `${namespace}/${name}`;
  switch (program) {
    case 'csi-provisioner':
      if (kind === 'PersistentVolumeClaim')
        return await provisioner(world, { ...shared, loop: 'claims', key: uid, driver: driverOf(question) });
      return kind === 'PersistentVolume'
        ? await provisioner(world, { ...shared, loop: 'volumes', key: name, driver: driverOf(question) })
        : undefined;
    case 'csi-attacher':
      if (kind === 'VolumeAttachment')
        return await attacher(world, { ...shared, loop: 'attachments', key: name, driver: driverOf(question) });
      return kind === 'PersistentVolume'
        ? await attacher(world, { ...shared, loop: 'volumes', key: name, driver: driverOf(question) })
        : undefined;
    case 'csi-resizer': {
      if (kind !== 'PersistentVolumeClaim') return undefined;
      const loop = verdict.stage === 'modify' ? 'modify' : 'expand';
      return await resizer(world, { ...shared, loop, key, driver: { ...driverOf(question), expansion: 'controller' } });
    }
    case 'csi-snapshotter':
      return kind === 'VolumeSnapshotContent'
        ? await snapshotter(world, {
            ...shared,
            loop: 'contents',
            key: name,
            driver: driverOf(question),
            servesGroups: false,
          })
        : undefined;
    case 'snapshot-controller':
      return kind === 'VolumeSnapshot'
        ? await snapshotController(world, { ...shared, loop: 'snapshots', key, servesGroups: false })
        : undefined;
    // Nothing waits for them: they only report.
    case 'csi-external-health-monitor-controller':
    case 'volume-data-source-validator':
      return undefined;
  }
}

/** Capabilities cannot be asked for from outside: those are assumed that the program needs for its work. */
function driverOf({ driver, attachRequired }: Question): DriverInfo {
  const controllerCapabilities = new Set([
    'CREATE_DELETE_VOLUME',
    'CLONE_VOLUME',
    'CREATE_DELETE_SNAPSHOT',
    'EXPAND_VOLUME',
    'MODIFY_VOLUME',
  ]);
  if (attachRequired !== false) controllerCapabilities.add('PUBLISH_UNPUBLISH_VOLUME');
  return { name: driver ?? '', pluginCapabilities: new Set(['CONTROLLER_SERVICE']), controllerCapabilities };
}

/** The newest failure that is recorded: how the driver answers. */
function failureOf({ failure }: Verdict): RecordedFailure | undefined {
  const code = failure?.code === undefined ? undefined : codeNames[failure.code];
  if (failure === undefined || code === undefined || code === 'OK') return undefined;
  return { code, detail: failure.text.split(' desc = ').at(-1) ?? '' };
}

function worldOf({ reader, clock, random }: DecisionPorts, { object, kind }: Question): DryWorld {
  const objects = reader.known();
  const hasSubject = objects.some(({ resource }) => resource.kind === kind);
  if (!hasSubject) throw new Error(`${object.metadata?.name} was not read`);
  return {
    objects,
    clock,
    random,
    read: {
      get: async (resource, ref) =>
        answered(await reader.get(resource, ref, `what ${ref.name} says to the program in charge`)),
      list: async (resource, query = {}) => ({
        items: answered(await reader.list(resource, query, 'what the program in charge lists')),
        resourceVersion: '',
      }),
      raw: async (path) => answered(await reader.raw(path, 'what the API server serves')),
    },
  };
}

function answered<T>(reading: Reading<T>): T {
  if (reading.kind === 'found') return reading.value;
  if (reading.kind === 'absent') throw new ApiError({ status: 404, reason: 'NotFound', message: 'not found' });
  throw new ApiError({ status: 403, reason: 'Forbidden', message: 'it could not be read' });
}

function sentenceOf({ action }: DryRunResult): string {
  switch (action.kind) {
    case 'call':
      return `would call ${action.method}`;
    case 'write':
      return `would ${action.verb} ${action.resource}`;
    case 'none':
      return 'has nothing to do with it';
    case 'conclude':
      return concluded(action.outcome);
  }
}

function concluded(outcome: Extract<DryRunResult['action'], { kind: 'conclude' }>['outcome']): string {
  switch (outcome.kind) {
    case 'done':
    case 'dropped':
      return 'would do nothing until something changes';
    case 'requeueAfter':
      return `would look again after ${Math.round(outcome.afterMs / 1_000)} s`;
    case 'retry':
    case 'postpone':
      return 'would try again';
  }
}
