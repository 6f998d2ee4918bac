// SPDX-License-Identifier: Apache-2.0
/** `csi-sidecars explain KIND/NAME`: reads what concerns an object, and prints why it is not ready and whose turn it is. */
import type { ProgramDeps, Started } from '@csi-sidecars/sidecar';
import { failureDocument } from '../report/document.ts';
import type { Explanation } from '../report/explanation.ts';
import { ageText, rowOf, screenOf } from '../report/screen.ts';
import type { AskHttp } from '../leader-answer/http.ts';
import { once, viaOf } from '../leader-answer/via.ts';
import type { AskPod } from '../port-forward/pod-port.ts';
import { CommandError, exits } from './exit-codes.ts';
import { explainProgram, type ExplainValues, type Output, refusedOf } from './explain-flags.ts';
import { explainOnce } from './explain-once.ts';
import { openCluster } from './open-cluster.ts';
import { formatted, isColoured, runCommand } from './run-command.ts';
import { parseSubject } from './subject.ts';
import { watchSubject } from './watch.ts';

export interface ExplainDeps extends ProgramDeps {
  /** Asks an endpoint on this machine. Default: by HTTP. */
  readonly ask?: AskHttp;
  /** Asks a port of a pod. Default: by a port-forward through the API server. */
  readonly askPod?: AskPod;
  readonly terminal: {
    /** Undefined: stdout is no terminal. */
    readonly columns: number | undefined;
  };
}

/** Resolves with the exit code. */
export function runExplain(deps: ExplainDeps): Promise<number> {
  return runCommand(deps, {
    program: explainProgram,
    failure: (message, code) => failureDocument(message, code, 'Explanation'),
    run: (started) => run(deps, started),
  });
}

async function run(
  deps: ExplainDeps,
  { values, given, positionals, log, stderr }: Started<ExplainValues, never>,
): Promise<number> {
  const { host, lifecycle } = deps;
  const refused = refusedOf(values);
  if (refused !== undefined) throw new CommandError(exits.usage, refused);
  const parsed = parseSubject(positionals, values.namespace || 'default');
  if (parsed.kind === 'mistake') throw new CommandError(exits.usage, parsed.message);
  const { subject } = parsed;
  const note = (line: string): void => stderr.write(`${line}\n`);
  if (subject.namespace === undefined && values.namespace !== '')
    note(`--namespace is ignored: a ${subject.kind} belongs to no namespace`);
  await using cluster = await openCluster({ host, signal: lifecycle.signal, log }, values, 'csi-sidecars-explain');
  const asked =
    subject.namespace === undefined || values.namespace !== '' ? subject : { ...subject, namespace: cluster.namespace };
  const asking = { ask: deps.ask, askPod: deps.askPod ?? cluster.askPod };
  const via = viaOf({ clock: host.clock, signal: lifecycle.signal, note: once(note) }, values, asking);
  const question = { cluster, subject: asked, values, given, ports: host, via };
  const output = values.output as Output;
  if (!values.watch) {
    const explanation = await explainOnce(cluster.reader, question);
    host.stdout(await outputOf(explanation, output, deps));
    return explanation.exitCode;
  }
  return await watchSubject({
    clock: host.clock,
    signal: lifecycle.signal,
    asked: question,
    cluster,
    print: async (explanation, isFirst) => {
      const isWhole = isFirst && output === 'text';
      host.stdout(isWhole ? await outputOf(explanation, output, deps) : changeLineOf(explanation, output));
    },
    note,
  });
}

/** One line: a compact document, or what has changed. */
function changeLineOf(explanation: Explanation, output: Output): string {
  if (output === 'json' || output === 'yaml') return `${JSON.stringify(explanation)}\n`;
  return output === 'row' ? rowOf(explanation) : `${explanation.at} ${ageOf(explanation)} ${rowOf(explanation)}`;
}

/** Since when it is that actor's turn. */
function ageOf({ at, turn }: Explanation): string {
  const ms = Date.parse(at) - Date.parse(turn?.since ?? '');
  return `+${Number.isFinite(ms) ? ageText(ms) : '?'}`;
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
