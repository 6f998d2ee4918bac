// SPDX-License-Identifier: Apache-2.0
import { createApiClient, isFailed, silentLogger, TransportError } from '@csi-sidecars/runtime';
import { FakeClock, scriptedTransport, seededRandom } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { aContent } from '../testing/builders.ts';
import { snapshotKind } from './content/kind.ts';
import { clear, release } from './write-content.ts';

it.each([
  { what: 'the status', write: clear },
  { what: 'the finalizers', write: release },
])(
  'given an API server that is silent, when the process must stop while $what are written, then the request is cancelled',
  async ({ write }) => {
    const stop = new AbortController();
    const clock = new FakeClock();
    const { transport, requests } = scriptedTransport('hang');
    const client = createApiClient(
      { transport, clock, logger: silentLogger },
      { userAgent: 'test', qps: -1, burst: 0 },
    );
    const contents = { remember: () => undefined };
    const writing = { client, clock, random: seededRandom(1), contents, kind: snapshotKind, signal: stop.signal };
    const writingContent = write(writing, aContent());
    await clock.advance(1_000);
    stop.abort();
    const { written } = await Promise.race([
      writingContent,
      clock.advance(1_000).then(() => ({ written: 'late' as const })),
    ]);
    expect(requests.length).toBe(1);
    expect(isFailed(written) && written.failure instanceof TransportError && written.failure.failure).toBe('aborted');
  },
);
