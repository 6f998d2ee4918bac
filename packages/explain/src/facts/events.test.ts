// SPDX-License-Identifier: Apache-2.0
import type { Event } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import type { Failure } from '../verdict.ts';
import { codeIn, failureOf, lastMs, retryOf } from './events.ts';

const at = (seconds: number): string => new Date(seconds * 1_000).toISOString();
const object = { kind: 'PersistentVolumeClaim', name: 'data' };
const event = (fields: object): Event => ({
  type: 'Warning',
  reason: 'Failed',
  message: 'm',
  metadata: {},
  involvedObject: {},
  ...fields,
});

describe('the newest failure', () => {
  it('given several, when looked for, then text and time are of the newest, the count is of all, and the beginning is that of its code', () => {
    const events = [
      event({
        message: 'rpc error: code = Internal desc = a',
        count: 3,
        firstTimestamp: at(10),
        lastTimestamp: at(30),
      }),
      event({ message: 'rpc error: code = Aborted desc = c', count: 2, firstTimestamp: at(40), lastTimestamp: at(90) }),
      event({ message: 'rpc error: code = Aborted desc = b', firstTimestamp: at(35), lastTimestamp: at(50) }),
      event({ type: 'Normal', message: 'newer', lastTimestamp: at(99) }),
      event({ reason: 'Other', message: 'newer', lastTimestamp: at(99) }),
    ];
    expect(failureOf(events, ['Failed'], object)).toMatchObject({
      text: 'rpc error: code = Aborted desc = c',
      code: 10,
      atMs: 90_000,
      firstMs: 35_000,
      count: 6,
      reason: 'Failed',
    });
  });

  it('given events without times, when looked for, then the last of them counts, and no time is known', () => {
    const failure = failureOf([event({ message: 'a' }), event({ message: 'b' })], ['Failed'], object);
    expect(failure).toEqual(expect.objectContaining({ text: 'b', count: 2 }));
    expect([failure?.atMs, failure?.firstMs]).toEqual([undefined, undefined]);
  });

  it('given a series, a time in its newer field, or a newer field for its source, when looked for, then they count', () => {
    const events = [
      event({ series: { count: 5, lastObservedTime: at(9) }, count: 2, eventTime: at(3), reportingComponent: 'new' }),
      event({ metadata: { creationTimestamp: at(4) } }),
    ];
    expect(failureOf(events, ['Failed'], object)).toMatchObject({
      atMs: 9_000,
      firstMs: 3_000,
      count: 6,
      source: 'new',
    });
    expect(failureOf(events.slice(1), ['Failed'], object)).toMatchObject({ firstMs: 4_000, count: 1 });
    const named = event({ source: { component: 'old' }, reportingComponent: 'new' });
    expect(failureOf([named], ['Failed'], object)).toMatchObject({ source: 'old' });
  });

  it('given times that are equal, or missing beside one, when looked for, then the later in the list, and the one with a time, is the newest', () => {
    const [one, other] = [
      event({ message: 'one', lastTimestamp: at(5) }),
      event({ message: 'other', lastTimestamp: at(5) }),
    ];
    expect(failureOf([one, other], ['Failed'], object)?.text).toBe('other');
    expect(failureOf([event({ message: 'timeless' }), one], ['Failed'], object)?.text).toBe('one');
    expect(failureOf([one, event({ message: 'timeless' })], ['Failed'], object)?.text).toBe('one');
  });

  it('given no warning of the reasons, when looked for, then there is none', () => {
    expect(failureOf([event({})], ['Another'], object)).toBe(undefined);
  });

  it.each([
    [{ series: { lastObservedTime: at(4), count: 9 }, lastTimestamp: at(3), eventTime: at(2) }, 4_000],
    [{ lastTimestamp: at(3), eventTime: at(2) }, 3_000],
    [{ eventTime: at(2), metadata: { creationTimestamp: at(1) } }, 2_000],
    [{ metadata: { creationTimestamp: at(1) } }, 1_000],
  ])('given the times %j, when read, then it was last seen at %i', (fields, ms) => {
    expect(lastMs(event(fields))).toBe(ms);
  });

  it.each([
    ['rpc error: code = ResourceExhausted desc = x', 8],
    ['code = Unauthenticated', 16],
    ['code = Strange desc = x', undefined],
    ['no code', undefined],
  ])('given the text %j, when read, then its code is %s', (text, code) => {
    expect(codeIn(text)).toBe(code);
  });
});

describe('the next attempt', () => {
  const failure = (count: number): Failure => ({
    text: '',
    code: undefined,
    atMs: 0,
    firstMs: 0,
    count,
    reason: undefined,
    source: undefined,
    object,
  });
  it.each([
    [1, 2_200],
    [3, 8_800],
    [8, 281_600],
    [9, 330_000],
    [24, 330_000],
    [25, 330_000],
    [1_000, 330_000],
  ])('given %i failures, when computed, then it comes within %i ms', (count, latestMs) => {
    expect(retryOf(failure(count))).toMatchObject({ will: 'yes', earliestMs: 0, latestMs });
  });

  it.each([
    [19, 1_100 * 2 ** 19],
    [24, 1_100 * 2 ** 20],
    [25, 1.1e12],
  ])(
    'given %i failures and a limit that is far away, when computed, then a filtered event says no more than the limit',
    (count, delayMs) => {
      const failure = { ...failureOf([event({ lastTimestamp: at(0) })], ['Failed'], object)!, count };
      expect(retryOf(failure, { startMs: 1_000, maxMs: 1e12 })).toMatchObject({ earliestMs: 0, latestMs: delayMs });
    },
  );

  it('given a failure without a time, when computed, then it has no bounds', () => {
    expect(retryOf({ ...failure(1), atMs: undefined })).toMatchObject({
      will: 'yes',
      earliestMs: undefined,
      latestMs: undefined,
    });
  });
});
