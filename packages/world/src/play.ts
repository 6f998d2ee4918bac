// SPDX-License-Identifier: Apache-2.0
/** Plays stories in this process: a worker of `explore.ts`. Sends each breach to its parent, and how far it is. */
import { putBugBack } from './bugs/put-back.ts';
import { watchMemory } from './invariants/memory.ts';

export interface Task {
  readonly first: number;
  readonly step: number;
  /** Seeds beyond it are not played. */
  readonly last: number;
  /** Real time after which no story begins. */
  readonly untilMs: number;
  readonly bug: string | undefined;
  readonly memory: boolean;
}

export type Report =
  | { readonly kind: 'breach'; readonly seed: number; readonly breaches: readonly string[] }
  | { readonly kind: 'played'; readonly stories: number }
  | { readonly kind: 'end'; readonly played: number; readonly nextSeed: number };

const task = JSON.parse(process.argv[2] ?? '{}') as Task;
// Stacks cost a twentieth of the time; a replay has them.
Error.stackTraceLimit = 0;
const memory = task.memory ? watchMemory() : undefined;
if (task.bug !== undefined) putBugBack(task.bug);
const [{ runStory }, { drawStory }] = await Promise.all([import('./run-story.ts'), import('./draw-story.ts')]);
const send = (report: Report): void => void process.send?.(report);

const reportedStories = 50;
let played = 0;
let seed = task.first;
for (; seed <= task.last && performance.now() < task.untilMs; seed += task.step) {
  const { breaches } = await runStory(drawStory(seed), memory);
  played += 1;
  if (played % reportedStories === 0) send({ kind: 'played', stories: reportedStories });
  if (breaches.length === 0) continue;
  send({ kind: 'breach', seed, breaches });
  if (task.bug !== undefined) break;
}
send({ kind: 'end', played, nextSeed: seed });
process.disconnect();
