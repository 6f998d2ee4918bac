// SPDX-License-Identifier: Apache-2.0
/** One screen: at most 24 lines of 80 to 120 columns, in ASCII. No line begins with a text of others. */
import { forScreen, shellLine } from '../command/printable.ts';
import type { NodeOperation } from '../metrics/node-operations.ts';
import type { ChangeJson, Explanation, RetryJson } from './explanation.ts';

export interface ScreenOptions {
  readonly columns: number;
  readonly nowMs: number;
  readonly isColoured: boolean;
}

const mostLines = 24;
const labelWidth = 8;

/** Label and text. */
type Entry = readonly [label: string, text: string];

export function screenOf(explanation: Explanation, { columns, nowMs, isColoured }: ScreenOptions): string {
  const width = Math.min(Math.max(columns, 80), 120);
  const { next } = explanation;
  const entries = [...stageEntries(explanation), ...factEntries(explanation, nowMs)];
  const lines = [headOf(explanation, width), ...entries.flatMap((entry) => wrapped(entry, width))];
  // A command is not wrapped: it is to be copied.
  const last = next === null ? [] : [`${'Next'.padEnd(labelWidth)}${forScreen(shellLine(next.command), 2_000)}`];
  const shown = [...lines.slice(0, mostLines - last.length), ...last];
  return `${shown.map((line) => (isColoured ? coloured(line) : line)).join('\n')}\n`;
}

/** `-o row`. */
export function rowOf({ row, exitCode, turn, sentence }: Explanation): string {
  return `${row} ${exitCode} ${turn?.actor ?? 'nobody'} ${forScreen(sentence)}\n`;
}

function headOf({ subject, driver }: Explanation, width: number): string {
  const left = `${subject.kind} ${subject.namespace === null ? '' : `${subject.namespace}/`}${subject.name}`;
  const right = `driver ${driver?.name ?? 'unknown'}`;
  return forScreen(`${left}${' '.repeat(Math.max(2, width - left.length - right.length))}${right}`, width);
}

function isOver({ verdict }: Explanation): boolean {
  return verdict === 'done' || verdict === 'absent';
}

function stageEntries(explanation: Explanation): readonly Entry[] {
  const { stages, sentence, row, verdict } = explanation;
  const ids = (state: string): string =>
    stages
      .filter((stage) => stage.state === state)
      .map(({ id, detail }) => `${id}${detail === null ? '' : ` ${detail}`}`)
      .join(', ');
  const now = stages.find(({ actor }) => actor !== null);
  const all: readonly Entry[] = [
    ['  done', ids('done')],
    isOver(explanation)
      ? ['  ', `${sentence} (${row})`]
      : ['  NOW', `${now === undefined ? '' : `${now.id}: `}${sentence}`],
    ['  next', ids('next')],
    ['  ?', verdict === 'absent' ? '' : ids('unknown')],
  ];
  return all.filter(([, text]) => text !== '');
}

function factEntries(explanation: Explanation, nowMs: number): readonly Entry[] {
  const { decision, turn, error, retry, changes, risk, row, verdict, findings, missing, clock, volumes } = explanation;
  const { nodeMetrics } = explanation;
  const entries: Entry[] = [];
  if (turn !== null) {
    const state = turn.alive === 'no' ? ' (does not work)' : '';
    const then = turn.role === null ? '' : ` (${turn.role})`;
    entries.push([
      'Turn',
      `${turn.actor}${state}${then}, since ${turn.sinceIsAtLeast ? 'at least ' : ''}${ageOf(turn.since, nowMs)}`,
    ]);
  }
  if (error !== null) {
    const times = error.count > 1 ? `, ${error.count} times` : '';
    const code = error.codeName === null ? '' : `, ${error.codeName}`;
    entries.push(['Error', `${ageOf(error.at, nowMs)} ago${times}${code}: "${error.text}"`]);
  }
  if (retry !== null) entries.push(['Retry', retryText(retry, nowMs)]);
  if (verdict === 'person') for (const each of changes) entries.push(['Change', changeText(each)]);
  if (nodeMetrics !== null && nodeMetrics.operations !== 'unknown')
    entries.push(['Kubelet', nodeMetricsText(nodeMetrics.node, nodeMetrics.operations)]);
  entries.push(['Risk', risk.sentence]);
  if (!isOver(explanation)) {
    const computed =
      decision?.row === undefined || decision.row === null
        ? ''
        : `; ${decision.row} of ${decision.program} (${decision.origin}): ${decision.sentence}`;
    const seen = findings.length === 0 ? '' : `; see doctor: ${findings.join(', ')}`;
    entries.push(['Row', `${row}${computed}${seen}`]);
  }
  const others = (volumes ?? [])
    .slice(1)
    .map(({ subject, ...volume }) => `${subject.name}: ${volume.verdict} (${volume.row})`);
  if (others.length > 0) entries.push(['Others', others.join(', ')]);
  entries.push(...missingEntries(missing));
  const offset = clock.localOffsetSeconds;
  if (Math.abs(offset) > 5) {
    const where = `${ageText(Math.abs(offset) * 1_000)} ${offset > 0 ? 'ahead of' : 'behind'} that of the API server`;
    entries.push(['Clock', `the clock of this machine is ${where}, by which the ages are`]);
  }
  return entries;
}

const mostMissing = 3;

function missingEntries(missing: Explanation['missing']): readonly Entry[] {
  const shown = missing
    .slice(0, mostMissing)
    .map(({ verb, resource, because, notKnown }): Entry => [
      'Missing',
      `${verb} ${resource} (${because}): ${notKnown} is not known`,
    ]);
  const left = missing.length - shown.length;
  return left === 0 ? shown : [...shown, ['Missing', `and ${left} more: -o json`]];
}

function retryText({ will, latest, because }: RetryJson, nowMs: number): string {
  const why = because === null ? '' : `: ${because}`;
  switch (will) {
    case 'yes': {
      const leftMs = latest === null ? undefined : Date.parse(latest) - nowMs;
      const when =
        leftMs === undefined ? '' : leftMs > 0 ? ` within ${ageText(leftMs)}` : `, expected ${ageText(-leftMs)} ago`;
      return `yes, by itself${when}${why}`;
    }
    case 'onChange':
      return because ?? 'when something changes';
    case 'no':
      return `no${why}`;
    case 'unknown':
      return `not known${why}`;
  }
}

function changeText({ what, object, field }: ChangeJson): string {
  if (object === null) return what;
  const { kind, namespace, name } = object;
  return `${what} (${kind} ${namespace === null ? '' : `${namespace}/`}${name}${field === null ? '' : `, ${field}`})`;
}

function nodeMetricsText(node: string | null, operations: readonly NodeOperation[]): string {
  if (node === null) return 'not asked: nothing waits for a node';
  const each = operations.map(
    ({ operation, result, count, averageSeconds }) => `${operation} ${result} ${count} times, ${averageSeconds}s each`,
  );
  return `of ${node}, since it started: ${each.length === 0 ? 'nothing of this driver' : each.join('; ')}`;
}

function wrapped([label, value]: Entry, width: number): readonly string[] {
  const lines: string[] = [];
  let line = label.padEnd(labelWidth);
  // A word that is longer than a line is cut into lines.
  const words = forScreen(value)
    .split(' ')
    .flatMap((word) => word.match(new RegExp(`.{1,${width - labelWidth}}`, 'g')) ?? ['']);
  for (const word of words) {
    const isFirst = line.length === labelWidth;
    if (!isFirst && line.length + 1 + word.length > width) {
      lines.push(line);
      line = ' '.repeat(labelWidth) + word;
    } else line += isFirst ? word : ` ${word}`;
  }
  return [...lines, line];
}

function ageOf(time: string, nowMs: number): string {
  const ms = Date.parse(time);
  return Number.isFinite(ms) ? ageText(nowMs - ms) : 'a time that is not known';
}

export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

/** Words stand beside each colour, so that nothing is lost without it. */
function coloured(line: string): string {
  return /^(\s\sNOW|Error)/.test(line) ? `\u001B[31m${line}\u001B[0m` : line;
}
