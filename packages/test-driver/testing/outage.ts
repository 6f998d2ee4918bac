// SPDX-License-Identifier: Apache-2.0
/**
 * Flows of a controller with an API server that dies at the answer to one write and comes back: the caller of that write does not learn
 * whether it happened, every request in between is refused a connection, and watches break. Soon after the return another program or a user goes
 * on. `livesOf` tries each write of the flow with each length and each of the others. The delay of the others rotates: over the writes, each
 * length meets each delay. With `OUTAGES=all` every write meets every delay, which takes more than twice as long.
 */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Fault, FaultRule } from '@csi-sidecars/runtime/testing';
import type { RunningController } from './controller-process.ts';

type Lost = 'beforeCommit' | 'afterCommit';

export interface Flow<F extends RunningController> {
  readonly flow: string;
  /** The controller and its environment, made for each life. */
  readonly world: () => Promise<F>;
  readonly begin: (world: F, isAway: () => boolean) => unknown;
  /** Lives until nothing happens any more, and shows what is seen. Each write up to here is the one whose answer is lost, in a life each. */
  readonly live: (world: F) => Promise<unknown>;
  /** Goes on without outages. Default: there is no more. */
  readonly after?: (world: F) => Promise<unknown>;
  /** What is seen by `live`, and by `after` if there is more. Each of these is right. */
  readonly ends: readonly (readonly unknown[])[];
  readonly others: Readonly<Record<string, Other<F>>>;
  /** The writes of a life without an outage, in order, each with the row that makes it: `A11 patch, A14 patch/status`. */
  readonly writes: string;
}

export interface Other<F> {
  readonly acts: (world: F) => unknown;
  /** Default: those of the flow. */
  readonly ends?: readonly (readonly unknown[])[];
}

export type LosingFlow<F extends RunningController> = Flow<F> & { readonly lost: Lost };

export interface Lives {
  /** What the controller writes when there is no outage. */
  readonly writes: string;
  /** The first three lives that ended in another way than they should. */
  readonly wrong: readonly string[];
  /** How many did. */
  readonly count: number;
}

const lengths = [500, 2_000, 10_000, 30_000];
const delays = [100, 1_000, 5_000];
const isExhaustive = process.env['OUTAGES'] === 'all';

/** Each flow once for each end of the lost write. */
export function timesLost<F extends RunningController>(flows: readonly Flow<F>[]): LosingFlow<F>[] {
  return flows.flatMap((flow) => (['beforeCommit', 'afterCommit'] as const).map((lost) => ({ ...flow, lost })));
}

/** The lives of the flow in which the answer to a write is lost. */
export async function livesOf<F extends RunningController>({ lost, ...flow }: LosingFlow<F>): Promise<Lives> {
  const quiet = await lifeOf(flow);
  const wrong: string[] = [];
  const judge = (when: string, end: unknown, right: readonly unknown[]): void => {
    if (!right.some((each) => isDeepStrictEqual(end, each))) wrong.push(`${when}: ${JSON.stringify(end)}`);
  };
  judge('no outage', quiet.end, flow.ends);
  const others: readonly [string, Other<F>][] = [
    ['nothing', { acts: () => undefined }],
    ...Object.entries(flow.others),
  ];
  for (const [write, name] of quiet.writes.entries()) {
    for (const [length, awayMs] of lengths.entries()) {
      const tried = isExhaustive ? delays : [delays[(write + length) % delays.length]!];
      for (const [other, { acts, ends = flow.ends }] of others) {
        for (const afterMs of other === 'nothing' ? [0] : tried) {
          const life = await lifeOf(flow, { write, lost, awayMs, afterMs, acts });
          const when = `${write}: ${name}, away for ${awayMs}, ${afterMs} after the return ${other}`;
          judge(when, life.end, ends);
          judge(`${when}: the writes before`, life.writes, [quiet.writes.slice(0, write + 1)]);
        }
      }
    }
  }
  return { writes: quiet.writes.join(', '), wrong: wrong.slice(0, 3), count: wrong.length };
}

/**
 * The writes in the page's table of requests that no flow makes. A line of the table is a write if its first three cells name the kind of
 * one. The rows that make it stand in the first two.
 */
export function writesWithoutOutage(page: string, flows: readonly Pick<Flow<never>, 'writes'>[]): readonly string[] {
  const text = readFileSync(new URL(`../../../docs/behaviour/${page}.md`, import.meta.url), 'utf8');
  const [, table = ''] = /\n\| Request \|.*\n\|[-|]+\|\n((?:\|.*\n)+)/.exec(text) ?? [];
  if (table === '') throw new Error(`${page}.md has no table of requests`);
  const made = new Set(flows.flatMap(({ writes }) => writes.match(/\b[A-Z]\d+\b/g) ?? []));
  return table
    .split('\n')
    .map((line) => line.split('|').slice(1, 4))
    .filter(
      (cells) => !/\bevents\b/.test(cells.join(' ')) && /\b(PUT|PATCH|POST|DELETE|patch|merge)\b/.test(cells.join(' ')),
    )
    .filter(
      (cells) =>
        ![
          ...cells
            .slice(0, 2)
            .join(' ')
            .matchAll(/\b[A-Z]\d+\b/g),
        ].some(([row]) => made.has(row)),
    )
    .map(([request = '']) => request.trim());
}

interface Outage<F> extends Pick<Other<F>, 'acts'> {
  /** Which write of the process, counted from 0. */
  readonly write: number;
  readonly lost: Lost;
  readonly awayMs: number;
  /** When the other one acts, after the return. */
  readonly afterMs: number;
}

interface Life {
  /** Up to the one whose answer was lost. */
  readonly writes: readonly string[];
  readonly end: unknown;
}

async function lifeOf<F extends RunningController>(flow: Flow<F>, outage?: Outage<F>): Promise<Life> {
  const world = await flow.world();
  const { writes: made, isAway } = addOutage(world, outage);
  await flow.begin(world, isAway);
  const end = [await flow.live(world)];
  const writes = [...made];
  if (flow.after !== undefined) end.push(await flow.after(world));
  await world.stop();
  return { writes, end };
}

const writing: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete']);

function addOutage<F extends RunningController>(world: F, outage: Outage<F> | undefined) {
  const { clock, server, faults } = world;
  const { write, lost, awayMs = 0, afterMs = 0, acts } = outage ?? {};
  const writes: string[] = [];
  let isAway = false;
  const dies: FaultRule['when'] = ({ verb, subresource }) => {
    if (!writing.has(verb)) return false;
    writes.push(`${world.row()} ${subresource === undefined ? verb : `${verb}/${subresource}`}`);
    if (writes.length - 1 !== write) return false;
    isAway = true;
    server.endWatches('broken');
    clock.timer(awayMs, () => {
      isAway = false;
      clock.timer(afterMs, () => void acts?.(world));
    });
    return true;
  };
  const refused: Fault = { kind: 'break', point: 'before', failure: 'refused' };
  const noAnswer: Fault = { kind: 'break', point: lost === 'afterCommit' ? 'after' : 'before', failure: 'eof' };
  faults.push({ when: () => isAway, fault: refused, times: Infinity }, { when: dies, fault: noAnswer });
  return { writes, isAway: () => isAway };
}
