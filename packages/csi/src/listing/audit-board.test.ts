// SPDX-License-Identifier: Apache-2.0
import { FakeClock, settle } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { createAuditBoard, type AuditedPass } from './audit-board.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const pass: AuditedPass = { startedMs: 0, endedMs: 1, result: 'ok', reason: undefined, entries: 3, findings: [] };

function setUp() {
  const clock = new FakeClock();
  const board = createAuditBoard({ clock });
  const desk = board.open('volumes');
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

it('given nobody who asks, then a pause lasts as long as it is to', async () => {
  const { clock, paused, desk } = setUp();
  const pause = paused();
  await clock.advance(dayMs - 1);
  expect(pause.isOver).toBe(false);
  await clock.advance(1);
  expect([pause.isOver, desk.began(), clock.pending]).toEqual([true, false, 0]);
});

it('given somebody who asks during a pause, then it ends, and the pass knows that it was asked for', async () => {
  const { clock, board, desk, paused } = setUp();
  const pause = paused();
  board.ask();
  await settle();
  expect([pause.isOver, clock.pending, desk.began()]).toEqual([true, 0, true]);
  expect(board.state()).toEqual({ listed: 'volumes', isRunning: true, last: undefined });
  desk.ended(pass);
  expect(board.state()).toEqual({ listed: 'volumes', isRunning: false, last: pass });
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
  const next = board.open('volumes');
  expect(board.state()).toEqual({ listed: 'volumes', isRunning: false, last: undefined });
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
