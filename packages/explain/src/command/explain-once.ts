// SPDX-License-Identifier: Apache-2.0
/** One pass: the subject is read, judged and explained. */
import type { KubeObject } from '@csi-sidecars/runtime';
import { argumentsOfLeader } from '../actors/leader.ts';
import { namingOf, retryIntervalsOf } from '../actors/leader-settings.ts';
import { type Because, CredentialsError, type Reader } from '../cluster/reader.ts';
import { nodeMetricsOf } from '../metrics/node-metrics.ts';
import { explanationOf } from '../report/document.ts';
import type { Explanation } from '../report/explanation.ts';
import type { Context, Options } from '../rows/context.ts';
import { afterBackoff, retryOf } from '../facts/events.ts';
import { objectName } from '../facts/objects.ts';
import type { Verdict } from '../verdict.ts';
import { decisionOf, type DecisionPorts, programOf } from '../rows/decision.ts';
import type { Judged } from '../rows/judged.ts';
import { absent, judge, unserved } from '../rows/subjects.ts';
import { askLeader, type ViaPorts } from '../leader-answer/ask.ts';
import { withLeaderAnswer } from '../leader-answer/merge.ts';
import { CommandError, exitCodeOf, exits } from './exit-codes.ts';
import type { ExplainValues } from './explain-flags.ts';
import type { Cluster } from './open-cluster.ts';
import type { Subject, SubjectKind } from './subject.ts';

export interface Asked {
  readonly ports: Pick<DecisionPorts, 'clock' | 'random'>;
  readonly cluster: Pick<Cluster, 'nowMs' | 'localOffsetMs' | 'cost'>;
  readonly subject: Subject;
  readonly values: ExplainValues;
  /** Names of the flags that the command line has. */
  readonly given: ReadonlySet<string>;
  /** Undefined: no leader is asked. */
  readonly via?: ViaPorts | undefined;
}

/** Rejects with a CommandError if the subject cannot be read. */
export async function explainOnce(
  reader: Reader,
  { cluster, subject, values, given, ports, via }: Asked,
): Promise<Explanation> {
  const { resource, namespace, name, kind } = subject;
  const options = optionsOf(values, given);
  try {
    const read = await reader.get(resource, { namespace, name }, `${kind} ${name}`);
    if (read.kind === 'unknown' && read.because !== 'absent') throw unreadableError(read.because, subject);
    const object = read.kind === 'found' ? read.value : undefined;
    const first = await judgedOf({ reader, options }, subject, object ?? read.kind);
    const decided =
      object === undefined ? first : await withDecision({ reader, options, ...ports }, { kind, object }, first);
    const judged =
      object === undefined || via === undefined
        ? decided
        : await withLeader(via, { kind, object }, { judged: decided, nowMs: cluster.nowMs(), reader, values });
    const nodeMetrics = values['node-metrics'] ? await nodeMetricsOf(reader, judged) : undefined;
    const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
    return explanationOf({
      atMs: cluster.nowMs(),
      localOffsetMs: cluster.localOffsetMs(),
      subject: { kind, apiVersion, namespace, name, object },
      judged,
      nodeMetrics,
      exitCode: exitCodeOf(judged.verdict.exit, values['exit-zero']),
      missing: reader.missing(),
      cost: cluster.cost(),
    });
  } catch (error) {
    if (error instanceof CredentialsError) throw new CommandError(exits.failed, error.message, { cause: error });
    throw error;
  }
}

async function judgedOf(
  context: Context,
  subject: Subject,
  found: KubeObject | 'absent' | 'found' | 'unknown',
): Promise<Judged> {
  if (typeof found === 'object') return await judge(context, subject, found);
  const verdict = found === 'absent' ? await absent(context, subject) : unserved(subject);
  return { verdict, driver: undefined, track: { stages: [] } };
}

/** Of a pod it is that of the volume which decides. */
async function withDecision(
  ports: DecisionPorts & Context,
  { kind, object }: { readonly kind: SubjectKind; readonly object: KubeObject },
  judged: Judged,
): Promise<Judged> {
  if (kind === 'Pod') return judged;
  const { driver, attachRequired } = judged;
  const { args, verdict } = await withArguments(ports, kind, judged);
  return {
    ...judged,
    verdict,
    decision: await decisionOf(ports, { kind, object, verdict, driver, attachRequired, args }),
  };
}

/** The program that tries again may not be the actor. Its arguments say how long it waits. */
async function withArguments(
  { reader, options }: Context,
  kind: SubjectKind,
  { verdict, driver = '' }: Judged,
): Promise<{ readonly args: readonly string[] | undefined; readonly verdict: Verdict }> {
  const program = verdict.exit === 0 || verdict.exit === 6 ? undefined : programOf({ verdict, kind });
  const isFound = program !== undefined && verdict.liveness === undefined;
  const namespace = program === 'snapshot-controller' ? options.snapshotControllerNamespace : options.driverNamespace;
  const args = isFound ? await argumentsOfLeader(reader, { program, driver, namespace }) : verdict.liveness?.args;
  const { failure, retry } = verdict;
  const isBackoff = args !== undefined && failure !== undefined && retry?.because === afterBackoff;
  return { args, verdict: isBackoff ? { ...verdict, retry: retryOf(failure, retryIntervalsOf(args)) } : verdict };
}

interface JudgedNow {
  readonly judged: Judged;
  readonly nowMs: number;
  readonly reader: Reader;
  readonly values: ExplainValues;
}

/** What the leader of the program in charge says of the object that it works on. */
async function withLeader(
  via: ViaPorts,
  { kind, object }: { readonly kind: SubjectKind; readonly object: KubeObject },
  { judged, nowMs, reader, values }: JudgedNow,
): Promise<Judged> {
  const { verdict } = judged;
  const program = verdict.exit === 0 || verdict.exit === 6 ? undefined : programOf({ verdict, kind });
  if (program === undefined) return judged;
  const namespace = values[program === 'snapshot-controller' ? 'snapshot-controller-namespace' : 'driver-namespace'];
  const about = verdict.workedOn ?? objectName(kind, object);
  const question = { program, driver: judged.driver ?? '', namespace };
  const answer = await askLeader(via, { ...question, reader, object: about });
  return answer === undefined ? judged : withLeaderAnswer(judged, { ...answer, program, nowMs });
}

function optionsOf(values: ExplainValues, given: ReadonlySet<string>): Options {
  const isNamed = given.has('volume-name-prefix') || given.has('volume-name-uuid-length');
  return {
    hasEvents: !values['no-events'],
    isDeep: values.deep,
    driverNamespace: values['driver-namespace'],
    snapshotControllerNamespace: values['snapshot-controller-namespace'],
    volumeNaming: isNamed ? namingOf(values) : undefined,
    allVolumes: values['all-volumes'],
  };
}

function unreadableError(unreadable: Because, { kind, name }: Subject): CommandError {
  const messages: Partial<Record<Because, string>> = {
    forbidden: `you may not read ${kind} ${name}`,
    timeout: 'the API server has not answered in time',
  };
  const message = messages[unreadable] ?? 'the API server cannot be reached';
  return new CommandError(exits.failed, message, { unreadable });
}
