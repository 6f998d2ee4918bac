// SPDX-License-Identifier: Apache-2.0
/** A flow, calm or with a fault at one of its writes and calls. */
import { type Ending, runStory } from '../run-story.ts';
import { beginMs, type Flow, storyOf } from './flow.ts';
import { createStriker, type Operation, type Strike, troublesOf } from './strike.ts';

export interface Point {
  /** `crash before create persistentvolumes` */
  readonly name: string;
  readonly strike: Strike;
}

export interface PlayedFlow extends Ending {
  readonly operations: readonly Operation[];
}

export async function playFlow(flow: Flow, point?: Point): Promise<PlayedFlow> {
  const { program, beside, openWindows } = flow;
  const story = storyOf(flow);
  // Users delete what they have two minutes after peace at the earliest.
  const span = { fromMs: beginMs, untilMs: (story.peaceMs ?? 0) + 120_000 };
  const striker = createStriker({ who: program, ...span, strike: point?.strike });
  const mayLeak = point !== undefined && openWindows.includes(point.name);
  const ending = await runStory(story, undefined, { striker, only: [program, ...beside], mayLeak });
  return { ...ending, operations: striker.operations };
}

/** Every fault at every operation, without those that repeat the two before them. */
export function pointsOf(operations: readonly Operation[]): readonly Point[] {
  const isRepeated = (index: number): boolean =>
    [1, 2].every((back) => operations[index - back]?.name === operations[index]?.name);
  return operations.flatMap((operation, index) =>
    (isRepeated(index) ? [] : troublesOf(operation)).map(([name, trouble]) => ({
      name: `${name} ${operation.name}`,
      strike: { index, trouble },
    })),
  );
}

/** With its number, so that it can be repeated. */
export function titleOf(point: Point | undefined): string {
  return point === undefined ? 'calm' : `${point.strike.index}: ${point.name}`;
}

/** What every fault at every write and every call breaks. The points are found by a run without faults, so a new write is a new point. */
export async function breachesOf(flow: Flow): Promise<readonly string[]> {
  const calm = await playFlow(flow);
  const points = pointsOf(calm.operations);
  if (points.length === 0) return ['nothing is written or called'];
  const breaches = calm.breaches.map((text) => `calm: ${text}`);
  for (const point of points) {
    const title = titleOf(point);
    const replay = `replay: node packages/world/src/crash-points/run.ts '${flow.name}' '${title}'`;
    for (const text of (await playFlow(flow, point)).breaches) breaches.push(`${title}: ${text}; ${replay}`);
  }
  return breaches;
}
