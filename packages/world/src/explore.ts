// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run explore`: plays stories and prints each breach with the command that replays it. Ends with 1 if there was one.
 * - `1-400`: these seeds. Without a range, seeds from `--from` (default: a number made of the date) until the time is over.
 * - `--minutes=10`: ends after that time.
 * - `--jobs=2`: processes.
 * - `--memory`: looks also at what the processes still remember in the end; such a story takes about ten times as long.
 * - `--bug=NAME`: puts a known defect back first (see `bugs/bugs.ts`).
 * - `--replay=SEED`: plays one story and prints its time line; with `--shrink`, the shortest story that breaks the same invariant.
 */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { putBugBack } from './bugs/put-back.ts';
import { watchMemory } from './invariants/memory.ts';
import type { Report, Task } from './play.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    bug: { type: 'string' },
    from: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    memory: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    replay: { type: 'string' },
    shrink: { type: 'boolean', default: false },
  },
});
/** JSON has no infinity. */
const endless = Number.MAX_SAFE_INTEGER;
/** How often the progress of a long exploration is printed. */
const progressStories = 1_000;
const say = (text: string): void => void process.stdout.write(`${text}\n`);

if (values.replay === undefined) await explore();
else await replay(Number(values.replay));

async function explore(): Promise<void> {
  const [range] = positionals;
  const today = Math.floor(Date.parse(new Date().toISOString().slice(0, 10)) / 86_400_000);
  const [first = 1, last = endless] = range?.split('-').map(Number) ?? [Number(values.from ?? today * 100_000)];
  const jobs = Number(values.jobs);
  const limitMs =
    values.minutes === undefined ? (range === undefined ? 600_000 : endless) : Number(values.minutes) * 60_000;
  let soFar = 0;
  const onPlayed = (stories: number): void => {
    soFar += stories;
    if (soFar % progressStories === 0) say(`${soFar} stories`);
  };
  const results = await Promise.all(
    Array.from({ length: jobs }, (_, job) =>
      play(
        { first: first + job, step: jobs, last, untilMs: limitMs, bug: values.bug, memory: values.memory },
        onPlayed,
      ),
    ),
  );
  const played = results.reduce((sum, result) => sum + result.played, 0);
  const found = results.reduce((sum, result) => sum + result.found, 0);
  say(`${played} stories from seed ${first} on, ${found} with a breach; the next seed is ${first + played}`);
  process.exitCode = found > 0 || played === 0 ? 1 : 0;
}

function play(
  task: Task,
  onPlayed: (stories: number) => void,
): Promise<{ readonly played: number; readonly found: number }> {
  return new Promise((resolve, reject) => {
    const worker = fork(join(import.meta.dirname, 'play.ts'), [JSON.stringify(task)], {
      execArgv: ['--min-semi-space-size=64', '--max-semi-space-size=64'],
    });
    let found = 0;
    let played: number | undefined;
    worker.on('message', (report: Report) => {
      if (report.kind === 'played') {
        onPlayed(report.stories);
        return;
      }
      if (report.kind === 'end') {
        played = report.played;
        return;
      }
      found += 1;
      say(`seed ${report.seed}:`);
      for (const text of report.breaches) say(`  ${text}`);
      say(
        `  replay it: npm run explore -- --replay=${report.seed} --shrink${task.memory ? ' --memory' : ''}${task.bug === undefined ? '' : ` --bug=${task.bug}`}`,
      );
    });
    worker.on('exit', (code) =>
      played === undefined ? reject(new Error(`a worker ended with ${code}`)) : resolve({ played, found }),
    );
  });
}

async function replay(seed: number): Promise<void> {
  const memory = values.memory ? watchMemory() : undefined;
  if (values.bug !== undefined) putBugBack(values.bug);
  const [{ runStory }, { drawStory }, { shrinkStory }] = await Promise.all([
    import('./run-story.ts'),
    import('./draw-story.ts'),
    import('./shrink-story.ts'),
  ]);
  const drawn = drawStory(seed);
  const story = values.shrink ? await shrinkStory(drawn, memory) : drawn;
  const { breaches, timeLine } = await runStory(story, memory);
  const { happenings, shape } = story;
  say(`seed ${seed}: ${JSON.stringify(shape)}`);
  for (const { atMs, kind, args } of happenings) say(`  ${atMs / 1000} s: ${kind} ${JSON.stringify(args)}`);
  say(`\n${timeLine()}\n`);
  say(breaches.length === 0 ? 'no breach' : breaches.join('\n'));
  process.exitCode = breaches.length > 0 ? 1 : 0;
}
