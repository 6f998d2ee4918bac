// SPDX-License-Identifier: Apache-2.0
/**
 * Plays crash points: `run.ts [--bug=NAME] [FLOW [POINT]]`. With a point, such as `3: crash after CreateVolume`, it prints the time line.
 * Ends with 1 if there was a breach.
 */
import { parseArgs } from 'node:util';
import { putBugBack } from '../bugs/put-back.ts';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { bug: { type: 'string' } } });
const [wantedFlow, wantedPoint] = positionals;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
if (values.bug !== undefined) putBugBack(values.bug);
const [{ flows }, { playFlow, pointsOf, titleOf }] = await Promise.all([
  import('./flows.ts'),
  import('./play-flow.ts'),
]);

let played = 0;
let found = 0;
for (const flow of flows.filter(({ name }) => name === (wantedFlow ?? name))) {
  const calm = await playFlow(flow);
  const points = pointsOf(calm.operations);
  for (const point of [undefined, ...points]) {
    const title = titleOf(point);
    if (wantedPoint !== undefined && wantedPoint !== title) continue;
    const { breaches, timeLine } = point === undefined ? calm : await playFlow(flow, point);
    played += 1;
    if (wantedPoint !== undefined) say(timeLine());
    if (breaches.length === 0) continue;
    found += 1;
    say(`${flow.name}, ${title}:\n  ${breaches.join('\n  ')}`);
  }
}
say(`${played} points, ${found} with a breach`);
process.exitCode = found > 0 || played === 0 ? 1 : 0;
