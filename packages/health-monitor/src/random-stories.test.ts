// SPDX-License-Identifier: Apache-2.0
/**
 * Random stories: reports change, lists and answers fail, writes are refused or dropped, claims are edited by hand, and the process restarts. When
 * all of that is over, each claim shows what the driver reports of its volume, and nothing is written any more.
 */
import { csiError } from '@csi-sidecars/csi/testing';
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import type { Fault } from '@csi-sidecars/runtime/testing';
import { seededRandom } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { aClaim, aPair, degraded, type Entries, inaccessible, storedInaccessible } from '../testing/builders.ts';
import { aMonitor, type Fixture, forbidden, internalError } from '../testing/monitor-fixture.ts';
import { normalise, type ReportedEntries } from './report/normalise.ts';

const seed = [...aPair(1), ...aPair(2), ...aPair(3)];
const handles = ['volume-1', 'volume-2', 'volume-3'];
const names = ['data', 'data-2', 'data-3'];
const odd: Entries = [
  { status: 'DEGRADED', reason: '5 errors', message: 'm' },
  { status: 99, reason: 'R', message: '' },
];
const choices: readonly Entries[] = [[], degraded, inaccessible, [...degraded, ...inaccessible], odd];
const status = (code: number, reason: string): Fault => ({ kind: 'status', point: 'before', code, reason });
const faults: readonly Fault[] = [
  internalError,
  forbidden,
  status(422, 'Invalid'),
  status(404, 'NotFound'),
  status(429, 'TooManyRequests'),
  { kind: 'break', point: 'after', failure: 'reset' },
];

interface Story {
  monitor: Fixture;
  readonly mode: 'list' | 'get';
  readonly reported: Map<string, Entries>;
  readonly pick: <T>(of: readonly T[]) => T;
}

const steps: readonly ((story: Story) => void | Promise<void>)[] = [
  ({ monitor, reported, pick }) => {
    const [handle, entries] = [pick(handles), pick(choices)];
    reported.set(handle, entries);
    monitor.report({ [handle]: entries });
  },
  ({ monitor, pick }) => monitor.fault('patch persistentvolumeclaims/status', pick(faults), pick([1, 2, 5])),
  ({ monitor, pick }) => monitor.setGate(pick(['on', 'off'])),
  ({ monitor, pick }) =>
    monitor.nextList({ entries: [], next_token: '1' }, pick([csiError('Internal'), csiError('Aborted')])),
  ({ monitor }) => monitor.channel.answerOnce('/csi.v1.Controller/ControllerGetVolumeHealth', csiError('NotFound')),
  ({ monitor }) => monitor.channel.answerOnce('/csi.v1.Controller/ControllerGetVolumeHealth', {}),
  ({ monitor, pick }) =>
    monitor.changeClaim(
      (claim) => ({ ...claim, status: aClaim({ health: storedInaccessible }).status ?? {} }),
      pick(names),
    ),
  async (story) => {
    const { monitor, mode, reported } = story;
    const cluster = monitor.crash();
    story.monitor = await aMonitor({ mode, cluster, reports: Object.fromEntries(reported) });
  },
];

const expected = (entries: Entries | undefined) => {
  const { conditions } = normalise((entries ?? []) as ReportedEntries);
  return conditions.length === 0 ? undefined : conditions;
};

it.each(Array.from({ length: 30 }, (_, number) => number + 1))(
  'given story %d, then all claims show what is reported',
  async (number) => {
    const random = seededRandom(number);
    const mode = number % 2 === 0 ? 'list' : 'get';
    const story: Story = {
      monitor: await aMonitor({ mode, seed }),
      mode,
      reported: new Map(),
      pick: (of) => of[Math.floor(random.next() * of.length)]!,
    };
    for (let step = 0; step < 25; step += 1) {
      await story.pick(steps)(story);
      if (random.next() < 0.6) await story.monitor.cycle();
    }
    const { monitor, reported } = story;
    monitor.faults.length = 0;
    monitor.setGate('on');
    // Longer than any value is held back, and a few cycles more: answers of the driver that are left over are used up.
    for (let cycle = 0; cycle < 30; cycle += 1) await monitor.cycle();
    const shown = names.map((name) => monitor.shown(name));
    expect(shown).toEqual(handles.map((handle) => expected(reported.get(handle))));
    const writes = monitor.writes().length;
    await monitor.cycle();
    await monitor.cycle();
    expect(monitor.writes().length).toBe(writes);
    expect(monitor.server.objects.list(persistentVolumeClaims)).toHaveLength(3);
    await monitor.stop();
    expect(monitor.clock.pending).toBe(0);
  },
);
