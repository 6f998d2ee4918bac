// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { createSchedule } from '../world/schedule.ts';
import { createTimeLine } from '../world/time-line.ts';
import { createOutside, type Outside } from './outside.ts';

/** The kinds of faults in the order of the draw, and none. */
const rolls = { refused: 0.1, lost: 0.3, late: 0.5, 'hung before': 0.7, 'hung after': 0.9, none: undefined } as const;

function arrange(kind: keyof typeof rolls, isStorm = true) {
  const schedule = createSchedule({ seed: 1 });
  const timeLine = createTimeLine(() => schedule.elapsedMs);
  const drawn: string[] = [];
  const numbers: Readonly<Record<string, number>> = {
    'outside fault': rolls[kind] === undefined ? 0.2 : 0.19,
    'outside which': rolls[kind] ?? 0,
    'outside delay': 0.6,
  };
  const draw = (key: string | number): number => {
    drawn.push(String(key));
    return numbers[key] ?? 0;
  };
  const services = schedule.process('services');
  const outsideOf = createOutside({ services, draw, isStorm: () => isStorm, note: timeLine.note });
  const process = schedule.process('zones-0#1');
  const seen: string[] = [];
  const add = (outside: Outside): void =>
    void outside
      .call('zone add a', () => {
        seen.push(`added at ${schedule.elapsedMs}`);
        return 'id';
      })
      .then(
        (answer) => void seen.push(`${answer} at ${schedule.elapsedMs}`),
        (error: unknown) => void seen.push(`${String(error)} at ${schedule.elapsedMs}`),
      );
  return { schedule, process, outside: outsideOf(process), add, seen, drawn, lines: timeLine.text };
}

it.each([
  ['none', ['added at 16', 'id at 32'], 'zone add a'],
  ['refused', ['Error: zone add a: refused at 32'], 'zone add a: {"kind":"refused"}'],
  ['lost', ['added at 16', 'Error: zone add a: the answer is lost at 32'], 'zone add a: {"kind":"lost"}'],
  ['late', ['added at 16', 'id at 5032'], 'zone add a: {"kind":"late","ms":5000}'],
  ['hung before', [], 'zone add a: {"kind":"hung","point":"before"}'],
  ['hung after', ['added at 16'], 'zone add a: {"kind":"hung","point":"after"}'],
] as const)(
  'given a call to a service with the fault %s, then it takes effect and is answered as that says, and the time line has it',
  async (kind, expected, line) => {
    const { schedule, outside, add, seen, lines } = arrange(kind);
    add(outside);
    await schedule.advanceTo(1_000_000);
    expect(seen).toEqual(expected);
    expect(lines()).toBe(`    0.016  ${'zones-0#1'.padEnd(24)} ${line}`);
  },
);

it('given the end of the storm, then no call fails', async () => {
  const { schedule, outside, add, seen } = arrange('lost', false);
  add(outside);
  await schedule.advanceTo(10_000);
  expect([outside.isStorm(), seen]).toEqual([false, ['added at 16', 'id at 32']]);
});

it('given an effect that throws, then the call rejects with that, and the time line names it', async () => {
  const { schedule, outside, lines } = arrange('none');
  const failure = new Error('the zone is full');
  const failures: unknown[] = [];
  void outside.call('zone add a', () => Promise.reject(failure)).catch((error: unknown) => failures.push(error));
  await schedule.advanceTo(100);
  expect(failures).toEqual([failure]);
  expect(lines()).toMatch(/ zone add a: Error: the zone is full$/);
});

it('given a process that dies after a call was sent, then the call takes effect, and nothing of the process hears of it', async () => {
  const { schedule, process, outside, add, seen } = arrange('none');
  add(outside);
  await schedule.advanceTo(10);
  process.kill('SIGKILL');
  await schedule.advanceTo(10_000);
  expect(seen).toEqual(['added at 16']);
});

it('given a process that stands still, then it gets the answer when it goes on, and its clock is that of the process', async () => {
  const { schedule, process, outside, add, seen } = arrange('none');
  add(outside);
  process.suspend(7_000);
  await schedule.advanceTo(10_000);
  expect(seen).toEqual(['added at 16', 'id at 7000']);
  expect(outside.clock).toBe(process.clock);
});

it('given a process that is dead, then its calls have no effect', async () => {
  const { schedule, process, outside, add, seen } = arrange('none');
  process.kill('SIGKILL');
  add(outside);
  await schedule.advanceTo(10_000);
  expect(seen).toEqual([]);
});

it('given calls to services, then nothing is drawn for them that requests of the API are drawn with', async () => {
  const { schedule, outside, add, drawn } = arrange('lost');
  add(outside);
  await schedule.advanceTo(10_000);
  expect(drawn.filter((key) => !key.startsWith('outside '))).toEqual([]);
});
