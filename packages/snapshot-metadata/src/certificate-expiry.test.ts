// SPDX-License-Identifier: Apache-2.0
import { FakeClock, recordingLogger, settle } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { issue } from '../testing/serving.ts';
import { watchExpiry } from './certificate-expiry.ts';

const pair = issue();
/** That of the certificates of tests. */
const expiresAtMs = Date.UTC(2049, 11, 31);
const hourMs = 3_600_000;

it('[snapshot-metadata#26] given a certificate, then from 24 hours before its end on it is logged once an hour, and a metric says when it ends', async () => {
  const clock = new FakeClock({ nowMs: expiresAtMs - 25.5 * hourMs });
  const log = recordingLogger();
  const seen: number[] = [];
  const stop = new AbortController();
  const metrics = { certificateExpires: (atMs: number) => void seen.push(atMs) };
  const watching = watchExpiry({ clock, log, metrics }, () => pair, stop.signal);
  await settle();
  await clock.advance(hourMs);
  expect(log.lines).toEqual([]);
  await clock.advance(hourMs);
  const expiresAt = '2049-12-31T00:00:00.000Z';
  expect(log.lines).toEqual([{ kind: 'warn', message: 'The TLS certificate expires soon', facts: { expiresAt } }]);
  await clock.advance(25 * hourMs);
  expect(log.messages()).toHaveLength(26);
  expect(log.messages().at(-1)).toBe('The TLS certificate has expired');
  expect(new Set(seen)).toEqual(new Set([expiresAtMs]));
  stop.abort();
  await watching;
  expect(clock.pending).toBe(0);
});
