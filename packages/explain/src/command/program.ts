// SPDX-License-Identifier: Apache-2.0
/** `csi-sidecars explain KIND/NAME`: reads what concerns an object, and prints why it is not ready and whose turn it is. */
import { type KubeObject, linkSignals, toError } from '@csi-sidecars/runtime';
import { type ProgramDeps, runProgram, type Started } from '@csi-sidecars/sidecar';
import { meteredTransport } from '../cluster/layer.ts';
import { createReader, CredentialsError, type Reader } from '../cluster/reader.ts';
import { explanationOf, failureDocument } from '../report/document.ts';
import type { Explanation } from '../report/explanation.ts';
import { rowOf, screenOf } from '../report/screen.ts';
import type { Context, Options } from '../rows/context.ts';
import type { Judged } from '../rows/judged.ts';
import { absent, judge, unserved } from '../rows/subjects.ts';
import type { ClusterValues } from './cluster-flags.ts';
import { CommandError, exitCodeOf, exits } from './exit-codes.ts';
import { explainProgram, type ExplainValues, type Output, refusedOf } from './explain-flags.ts';
import { forScreen } from './printable.ts';
import { parseSubject, type Subject } from './subject.ts';

export interface ExplainDeps extends ProgramDeps {
  readonly terminal: {
    /** Undefined: stdout is no terminal. */
    readonly columns: number | undefined;
  };
}

/** Resolves with the exit code. */
export function runExplain(deps: ExplainDeps): Promise<number> {
  const { host, lifecycle } = deps;
  const start = { order: ['version', 'gates'], versionLine: 'omitted', positionals: 'used' } as const;
  return runProgram({ host, lifecycle }, { program: explainProgram, start }, async (started) => {
    const { values, stderr } = started;
    try {
      return await run(deps, started);
    } catch (error) {
      const code = error instanceof CommandError ? error.code : exits.failed;
      const message = forScreen(toError(error).message, 2_000);
      if (code !== exits.usage && (values.output === 'json' || values.output === 'yaml'))
        host.stdout(await formatted(failureDocument(message, code, 'Explanation'), values.output));
      stderr.write(`error: ${message}\n`);
      await stderr.flush();
      return code;
    }
  });
}

async function run(deps: ExplainDeps, { values, positionals, log }: Started<ExplainValues, never>): Promise<number> {
  const { host, lifecycle } = deps;
  const refused = refusedOf(values);
  if (refused !== undefined) throw new CommandError(exits.usage, refused);
  const parsed = parseSubject(positionals, values.namespace || 'default');
  if (parsed.kind === 'mistake') throw new CommandError(exits.usage, parsed.message);
  const { subject } = parsed;
  await using cluster = await openCluster({ host, signal: lifecycle.signal, log }, values, 'csi-sidecars-explain');
  const asked =
    subject.namespace === undefined || values.namespace !== '' ? subject : { ...subject, namespace: cluster.namespace };
  const explanation = await explainOnce(cluster, asked, values);
  host.stdout(await outputOf(explanation, values.output as Output, deps));
  return explanation.exitCode;
}

export interface Cluster extends AsyncDisposable {
  readonly reader: Reader;
  /** Of the context. */
  readonly namespace: string;
  readonly nowMs: () => number;
  readonly localOffsetMs: () => number;
  readonly cost: () => Explanation['cost'];
}

interface OpenDeps extends Pick<ExplainDeps, 'host'> {
  readonly signal: AbortSignal;
  readonly log: Started<ExplainValues, never>['log'];
}

export async function openCluster(
  { host, signal, log }: OpenDeps,
  values: ClusterValues,
  program: string,
): Promise<Cluster> {
  const { clock } = host;
  await using stack = new AsyncDisposableStack();
  const { layer, meter } = meteredTransport(clock, { user: values.as, group: values['as-group'] });
  const startedMs = clock.monotonicMs();
  const late = new AbortController();
  stack.use(clock.timer(values.timeout, () => late.abort(new Error(`--timeout ${values.timeout / 1_000}s is over`))));
  const linked = linkSignals([signal, late.signal]);
  stack.use(linked);
  let api;
  try {
    api = await host.connectApi({
      program,
      kubeconfig: values.kubeconfig,
      master: '',
      qps: values.qps,
      burst: values.burst,
      log,
      command: { context: values.context, layer },
    });
  } catch (error) {
    throw new CommandError(exits.failed, toError(error).message, { cause: error });
  }
  stack.defer(api.close);
  const reader = createReader({
    client: api.client,
    clock,
    meter,
    signal: linked.signal,
    requestTimeoutMs: values['request-timeout'],
  });
  const owned = stack.move();
  return {
    reader,
    namespace: api.namespace || 'default',
    nowMs: reader.nowMs,
    localOffsetMs: () => -meter.serverAheadMs(),
    cost: () => ({
      requests: meter.requests(),
      bytes: meter.bytes(),
      seconds: Math.round(clock.monotonicMs() - startedMs) / 1_000,
    }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function optionsOf(values: ExplainValues): Options {
  return {
    hasEvents: !values['no-events'],
    isDeep: values.deep,
    driverNamespace: values['driver-namespace'],
    snapshotControllerNamespace: values['snapshot-controller-namespace'],
    volumeNamePrefix: values['volume-name-prefix'],
    volumeNameUuidLength: values['volume-name-uuid-length'],
    allVolumes: values['all-volumes'],
  };
}

/** Rejects with a CommandError if the subject cannot be read. */
export async function explainOnce(cluster: Cluster, subject: Subject, values: ExplainValues): Promise<Explanation> {
  const { reader } = cluster;
  const context: Context = { reader, options: optionsOf(values) };
  const { resource, namespace, name, kind } = subject;
  let read;
  let judged: Judged;
  let object: KubeObject | undefined;
  try {
    read = await reader.get(resource, { namespace, name }, `${kind} ${name}`);
    if (read.kind === 'unknown' && read.because !== 'absent')
      throw new CommandError(exits.failed, await unreadable(read.because, subject));
    if (read.kind === 'found') {
      object = read.value;
      judged = await judge(context, subject, object);
    } else {
      const verdict = read.kind === 'unknown' ? unserved(subject) : await absent(context, subject);
      judged = { verdict, driver: undefined, track: { stages: [] } };
    }
  } catch (error) {
    if (error instanceof CredentialsError) throw new CommandError(exits.failed, error.message, { cause: error });
    throw error;
  }
  return explanationOf({
    atMs: cluster.nowMs(),
    localOffsetMs: cluster.localOffsetMs(),
    subject: {
      kind,
      apiVersion: resource.group === '' ? resource.version : `${resource.group}/${resource.version}`,
      namespace,
      name,
      object,
    },
    judged,
    exitCode: exitCodeOf(judged.verdict.exit, values['exit-zero']),
    missing: reader.missing(),
    cost: cluster.cost(),
  });
}

async function unreadable(because: string, { kind, name }: Subject): Promise<string> {
  switch (because) {
    case 'forbidden':
      return `you may not read ${kind} ${name}`;
    case 'timeout':
      return 'the API server has not answered in time';
    default:
      return 'the API server cannot be reached';
  }
}

async function outputOf(explanation: Explanation, output: Output, { terminal, host }: ExplainDeps): Promise<string> {
  switch (output) {
    case 'json':
    case 'yaml':
      return await formatted(explanation, output);
    case 'row':
      return rowOf(explanation);
    case 'text': {
      const { columns } = terminal;
      return screenOf(explanation, {
        columns: columns ?? 80,
        nowMs: Date.parse(explanation.at),
        isColoured: isColoured(columns, host.env),
      });
    }
  }
}

/** On a terminal, unless its user wants no colours. */
export function isColoured(columns: number | undefined, env: ExplainDeps['host']['env']): boolean {
  return columns !== undefined && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

export async function formatted(document: object, output: 'json' | 'yaml'): Promise<string> {
  if (output === 'json') return `${JSON.stringify(document, undefined, 2)}\n`;
  const { dump } = await import('js-yaml');
  return dump(document);
}
