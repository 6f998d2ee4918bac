// SPDX-License-Identifier: Apache-2.0
/**
 * `csi-sidecars leftovers`: lists what a provisioner left, and with `--remove` removes it. Nothing is written without `--yes` or the name
 * of the driver typed on a terminal.
 */
import type { ApiClient } from '@csi-sidecars/runtime';
import {
  ExitError,
  exitCodes,
  orExit,
  type ProgramDeps,
  type ProgramHost,
  runProgram,
  type Started,
} from '@csi-sidecars/sidecar';
import { leftoversProgram, type LeftoversValues, optionsOf, refusedOf } from './flags.ts';
import { listCluster } from './list.ts';
import { leftoversOf } from './observe.ts';
import { removeLeftovers, type Result } from './remove.ts';
import { jsonOf, lineOf, resultsJsonOf, summaryOf, tableOf } from './report.ts';
import type { Leftover, LeftoverOptions } from './state.ts';

/** Where a person confirms a removal. */
export interface Terminal {
  /** Undefined: there is no terminal. Resolves with the line that was typed. */
  readonly ask: ((question: string, signal: AbortSignal) => Promise<string>) | undefined;
}

export interface LeftoversDeps extends ProgramDeps {
  readonly terminal: Terminal;
}

/** Resolves with the exit code. */
export function runLeftovers({ host, lifecycle, terminal }: LeftoversDeps): Promise<number> {
  const deps = { host, lifecycle };
  const start = { order: ['version', 'gates'], versionLine: 'omitted' } as const;
  return runProgram(deps, { program: leftoversProgram, start }, async (started) => {
    const { values } = started;
    const refused = refusedOf(values);
    if (refused !== undefined) throw new ExitError(exitCodes.failure, refused);
    await using stack = new AsyncDisposableStack();
    const api = await orExit('Failed to create a Kubernetes client', () => connect(host, started));
    stack.defer(api.close);
    const options = optionsOf(values);
    const { signal } = lifecycle;
    const cluster = await orExit('Failed to list what is left', () => listCluster(api.client, signal));
    const leftovers = leftoversOf(cluster, options);
    const run = { client: api.client, host, terminal, values, options, signal };
    return values.remove ? await remove(run, leftovers) : list(run, leftovers);
  });
}

function connect(
  host: ProgramHost,
  { values, log }: Started<LeftoversValues, never>,
): ReturnType<typeof host.connectApi> {
  return host.connectApi({
    program: 'csi-sidecars-leftovers',
    kubeconfig: values.kubeconfig,
    master: '',
    qps: values['kube-api-qps'],
    burst: values['kube-api-burst'],
    log,
  });
}

interface Run {
  readonly client: ApiClient;
  readonly host: ProgramHost;
  readonly terminal: Terminal;
  readonly values: LeftoversValues;
  readonly options: LeftoverOptions;
  readonly signal: AbortSignal;
}

function list({ host, values }: Run, leftovers: readonly Leftover[]): number {
  const shown = values.all ? leftovers : leftovers.filter(({ decision }) => decision.verdict !== 'inUse');
  if (values.output === 'json') host.stdout(jsonOf(shown));
  else host.stdout(`${shown.length === 0 ? '' : tableOf(shown)}${summaryOf(leftovers, shown)}`);
  return exitCodes.success;
}

async function remove(run: Run, leftovers: readonly Leftover[]): Promise<number> {
  const { client, host, values, options, signal } = run;
  const agreed = leftovers.filter(
    ({ decision: { verdict } }) => verdict === 'safe' || (verdict === 'unsettled' && values['include-unsettled']),
  );
  const isJson = values.output === 'json';
  if (!isJson) list(run, leftovers);
  if (agreed.length > 0 && !values.yes) await confirm(run, agreed.length);
  const results: Result[] = [];
  const report = (result: Result): void => {
    results.push(result);
    if (!isJson) host.stdout(lineOf(result));
  };
  try {
    const work = () => removeLeftovers(client, { agreed, options, report }, signal);
    await orExit('Failed to remove what is left', work);
  } finally {
    // Also of a removal that failed halfway.
    if (isJson) host.stdout(resultsJsonOf(results));
  }
  return results.some(({ result }) => result === 'failed') ? exitCodes.failure : exitCodes.success;
}

/** Rejects with an ExitError unless the person types the name of the driver. */
async function confirm({ terminal, values, signal }: Run, count: number): Promise<void> {
  if (terminal.ask === undefined) {
    throw new ExitError(exitCodes.failure, 'Nothing was removed: confirm with --yes where there is no terminal');
  }
  const what = `${count} ${count === 1 ? 'entry' : 'entries'}`;
  const typed = await terminal.ask(`Remove ${what}? Type the name of the driver to go on: `, signal);
  if (typed.trim() !== values.driver) {
    throw new ExitError(exitCodes.failure, 'Nothing was removed: the name of the driver was not typed');
  }
}
