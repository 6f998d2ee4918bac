// SPDX-License-Identifier: Apache-2.0
/** `csi-sidecars explain KIND/NAME`: reads what concerns an object, and prints why it is not ready and whose turn it is. */
import type { ProgramDeps, Started } from '@csi-sidecars/sidecar';
import { failureDocument } from '../report/document.ts';
import type { Explanation } from '../report/explanation.ts';
import { ageText, rowOf, screenOf } from '../report/screen.ts';
import type { ViaPorts } from '../leader-answer/ask.ts';
import { parseEndpoints } from '../leader-answer/endpoints.ts';
import { type AskHttp, askHttp } from '../leader-answer/http.ts';
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
  await using cluster = await openCluster({ host, signal: lifecycle.signal, log }, values, 'csi-sidecars-explain');
  const asked =
    subject.namespace === undefined || values.namespace !== '' ? subject : { ...subject, namespace: cluster.namespace };
  const note = (line: string): void => stderr.write(`${line}\n`);
  const question = { cluster, subject: asked, values, given, ports: host, via: viaOf(deps, values, note) };
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

/** Undefined without `--via`. A watch asks again and again: each line is printed once. */
function viaOf(
  { host, lifecycle, ask = askHttp }: ExplainDeps,
  values: ExplainValues,
  note: (line: string) => void,
): ViaPorts | undefined {
  const endpoints = parseEndpoints(values.via);
  if (endpoints.kind === 'mistake' || endpoints.urls.length === 0) return undefined;
  const noted = new Set<string>();
  const noteOnce = (line: string): void => {
    if (!noted.has(line)) note(line);
    noted.add(line);
  };
  return { urls: endpoints.urls, clock: host.clock, signal: lifecycle.signal, ask, note: noteOnce };
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
