// SPDX-License-Identifier: Apache-2.0
import { FakeClock, settle } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { auditingOf, createAuditBoard, type AuditedPass } from './audit-board.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const pass: AuditedPass = { startedMs: 0, endedMs: 1, result: 'ok', reason: undefined, entries: 3, findings: [] };

function setUp() {
  const clock = new FakeClock();
  const board = createAuditBoard({ clock });
  const desk = board.open({ listed: 'volumes', isPeriodic: true });
  const stop = new AbortController();
  /** Whether the pause is over. */
  const paused = () => {
    const state = { isOver: false, error: undefined as unknown };
    desk.pause(dayMs, stop.signal).then(
      () => (state.isOver = true),
      (error: unknown) => (state.error = error),
    );
    return state;
  };
  return { clock, board, desk, stop, paused };
}

it('given no question, then a pause lasts as long as it is to', async () => {
  const { clock, paused, desk } = setUp();
  const pause = paused();
  await clock.advance(dayMs - 1);
  expect(pause.isOver).toBe(false);
  await clock.advance(1);
  expect([pause.isOver, desk.began(), clock.pending]).toEqual([true, false, 0]);
});

it('given a question during a pause, then the pause ends, and the pass knows that it was asked for', async () => {
  const { clock, board, desk, paused } = setUp();
  const pause = paused();
  board.ask();
  await settle();
  expect([pause.isOver, clock.pending, desk.began()]).toEqual([true, 0, true]);
  expect(board.state()).toEqual({ listed: 'volumes', isPeriodic: true, isRunning: true, last: undefined });
  desk.ended(pass);
  expect(board.state()).toEqual({
    listed: 'volumes',
    isPeriodic: true,
    isRunning: false,
    last: { ...pass, counts: {}, isWhole: true },
  });
});

it('given a question before the pause begins, then the pause does not begin', async () => {
  const { board, paused } = setUp();
  board.ask();
  const pause = paused();
  await settle();
  expect(pause.isOver).toBe(true);
});

it('given a pass that is under way or began less than an hour ago, then a question begins none', async () => {
  const { clock, board, desk, paused } = setUp();
  desk.began();
  board.ask();
  desk.ended({ ...pass, result: 'failed' });
  await clock.advance(hourMs - 1);
  board.ask();
  const pause = paused();
  await settle();
  expect(pause.isOver).toBe(false);
  await clock.advance(1);
  board.ask();
  await settle();
  expect(pause.isOver).toBe(true);
});

it('given a pass that takes more than an hour, then a question begins no other behind it', async () => {
  const { clock, board, desk, paused } = setUp();
  desk.began();
  await clock.advance(2 * hourMs);
  board.ask();
  desk.ended(pass);
  const pause = paused();
  await settle();
  expect(pause.isOver).toBe(false);
});

it('[explain#122] given a term that ends during a pause, then the pause ends with it, and nothing is left', async () => {
  const { clock, stop, paused } = setUp();
  const pause = paused();
  stop.abort(new Error('lost'));
  await settle();
  expect([String(pause.error), clock.pending]).toEqual(['Error: lost', 0]);
  const late = paused();
  await settle();
  expect(String(late.error)).toBe('Error: lost');
});

it('given a new term, then the last pass and the question of the one before are forgotten', async () => {
  const { board, desk, clock, stop } = setUp();
  desk.began();
  desk.ended(pass);
  await clock.advance(hourMs);
  board.ask();
  const next = board.open({ listed: 'volumes', isPeriodic: true });
  expect(board.state()).toEqual({ listed: 'volumes', isPeriodic: true, isRunning: false, last: undefined });
  let isOver = false;
  void next.pause(dayMs, stop.signal).then(() => (isOver = true));
  await settle();
  expect(isOver).toBe(false);
});

it('given a controller that audits nothing, then there is no state, and a question does nothing', () => {
  const board = createAuditBoard({ clock: new FakeClock() });
  board.ask();
  expect(board.state()).toBe(undefined);
});

it('given more findings than are kept, then those that a person has to look at are kept, and all are counted', () => {
  const { board, desk } = setUp();
  const finding = {
    row: 'O4',
    class: 'unconfirmed',
    level: 'mayBeWork',
    confirmed: false,
    handle: 'h',
    sinceMs: 0,
    sentence: '',
  };
  const worse = { ...finding, row: 'O10', class: 'missing', level: 'difference' };
  desk.ended({ ...pass, findings: [...Array.from({ length: 600 }, () => finding), worse] });
  const last = board.state()?.last;
  expect([last?.findings.length, last?.findings[0], last?.isWhole]).toEqual([500, worse, false]);
  expect(last?.counts).toEqual({ unconfirmed: 600, missing: 1 });
});

it('given a pause without an end, then only a question ends it, and it leaves no timer', async () => {
  const { clock, board, desk, stop } = setUp();
  let passes = 0;
  const pause = async (): Promise<void> => {
    await desk.pause(Infinity, stop.signal);
    passes += 1;
  };
  const first = pause();
  await clock.advance(30 * dayMs);
  expect([passes, clock.pending]).toEqual([0, 0]);
  board.ask();
  await first;
  expect([passes, desk.began()]).toEqual([1, true]);
  desk.ended(pass);
  const second = pause();
  stop.abort(new Error('stopped'));
  await expect(second).rejects.toThrow('stopped');
  await expect(pause()).rejects.toThrow('stopped');
});

it('given a question that begins a pass, then the last one is forgotten; a question too soon after it forgets nothing', async () => {
  const { clock, board, desk } = setUp();
  desk.began();
  desk.ended(pass);
  board.ask();
  expect(board.state()).toMatchObject({ isRunning: false, last: { result: 'ok' } });
  await clock.advance(hourMs);
  board.ask();
  expect(board.state()).toMatchObject({ isRunning: false, last: undefined });
});

it.each([
  { auditing: 'periodic', intervalMs: 1, isListed: true, has: 'no board' },
  { auditing: 'periodic', intervalMs: 1, isListed: true, has: 'a board' },
  { auditing: 'off', intervalMs: 1, isListed: false, has: 'a board' },
  { auditing: 'onRequest', intervalMs: 0, isListed: true, has: 'a board' },
  { auditing: 'off', intervalMs: 0, isListed: true, has: 'no board' },
  { auditing: 'off', intervalMs: 0, isListed: false, has: 'a board' },
])('auditing is $auditing, given an interval of $intervalMs ms, a driver that lists: $isListed, and $has', (facts) => {
  const board = facts.has === 'a board' ? createAuditBoard({ clock: new FakeClock() }) : undefined;
  expect(auditingOf({ ...facts, board })).toBe(facts.auditing);
});
