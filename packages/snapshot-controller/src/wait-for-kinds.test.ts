// SPDX-License-Identifier: Apache-2.0
import { TransportError } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger } from '@csi-sidecars/runtime/testing';
import { volumeSnapshots } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { waitForKinds } from './wait-for-kinds.ts';

it('[snapshot-controller#173] given an API server whose name is unknown, when the time is over, then the last failure names the cause, and not the limit of the last attempt', async () => {
  const clock = new FakeClock();
  const log = recordingLogger();
  const unknown = new TransportError('lookup', 'getaddrinfo ENOTFOUND api');
  let attempts = 0;
  /** To find out takes 20 ms. */
  const list = async (_resource: unknown, _query: unknown, { timeoutMs = 0 } = {}): Promise<never> => {
    attempts += 1;
    await clock.sleep(Math.min(20, timeoutMs));
    throw timeoutMs < 20 ? new TransportError('timeout', `deadline of ${timeoutMs} ms exceeded`) : unknown;
  };
  let failure: Error | undefined;
  void waitForKinds(
    { client: { list }, clock, log },
    { kinds: [volumeSnapshots], withinMs: 30_000 },
    new AbortController().signal,
  ).then((it) => (failure = it));
  await clock.advance(31_000);
  expect(failure).toBe(unknown);
  expect(new Set(log.lines.map((line) => (line.kind === 'error' ? line.error : undefined)))).toEqual(
    new Set([unknown]),
  );
  expect([attempts, clock.pending]).toEqual([log.lines.length, 0]);
});
