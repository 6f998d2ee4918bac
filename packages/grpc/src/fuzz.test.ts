// SPDX-License-Identifier: Apache-2.0
/**
 * Any frames at either end: the process goes on, every call ends by its limit, and no socket and no timer is left. Seeded; set
 * GRPC_FUZZ_RUNS for more than the thousands that every run of the tests has.
 */
import { setImmediate } from 'node:timers/promises';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { anyConnection } from '../testing/any-frames.ts';
import { echoCodec, echoMethods, echoPath } from '../testing/echo.ts';
import {
  dataFrame,
  headersFrame,
  preface,
  rawClient,
  rawServer,
  requestFields,
  settings,
  socketPlace,
} from '../testing/raw-peer.ts';
import { type CallOutcome, connectClient } from './client/client.ts';
import { frameMessage } from './message-frame.ts';
import { serveUnary } from './server/server.ts';

const numRuns = Number(process.env['GRPC_FUZZ_RUNS'] ?? 1_500);
const timeoutMs = 60_000 + numRuns * 20;
const paths = [echoPath, 'constructor', '/test.Echo/None'];
const handshake = fc.constantFrom(
  settings(),
  settings([3, 1]),
  settings([4, 0]),
  settings([5, 16_384], [1, 0]),
  Buffer.alloc(0),
);

/** Long enough for what is on its way in the sockets. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 6; turn += 1) await setImmediate();
}

it(
  'given any frames of a client, then the server closes that connection at most, leaves nothing, and serves the next one',
  async () => {
    await using place = await socketPlace();
    const clock = new FakeClock();
    const server = await serveUnary({ clock, methods: echoMethods() }, place.path);
    const text = frameMessage(echoCodec.request.encode({ text: 'a' }));
    let answeredRuns = 0;
    await fc.assert(
      fc.asyncProperty(handshake, anyConnection(paths), fc.boolean(), async (first, chunks, isHalfClosed) => {
        const peer = await rawClient(place.path);
        peer.write(preface, first);
        for (const chunk of chunks) {
          peer.write(chunk);
          await setImmediate();
        }
        await turns();
        if (peer.seen.some((line) => line.startsWith('headers'))) answeredRuns += 1;
        if (isHalfClosed) peer.socket.end();
        else peer.socket.destroy();
        await peer.closed;
        await expect.poll(() => clock.pending === 0, { interval: 1 }).toBe(true);
      }),
      { seed: 301, numRuns },
    );
    // Enough frames must get as far as a handler for this to mean anything.
    expect(answeredRuns).toBeGreaterThan(numRuns / 10);
    const next = await rawClient(place.path);
    next.write(preface, settings(), headersFrame(1, requestFields(echoPath)), dataFrame(1, text, 'last'));
    await next.until('headers 1 end grpc-status=0');
    next.socket.destroy();
    server.close();
    await expect.poll(() => clock.pending === 0).toBe(true);
  },
  timeoutMs,
);

it(
  'given any frames of a server, then every call ends once, by its limit at the latest, and nothing is left',
  async () => {
    await using server = await rawServer();
    let endedRuns = 0;
    await fc.assert(
      fc.asyncProperty(
        handshake,
        anyConnection(paths),
        fc.integer({ min: 1, max: 4 }),
        async (first, chunks, callCount) => {
          const clock = new FakeClock();
          const connecting = connectClient({ clock, limitMs: 1_000 }, { kind: 'unix', path: server.path });
          const peer = await server.accepted();
          peer.write(first);
          if (first.length === 0) for (const chunk of chunks) peer.write(chunk);
          await turns();
          await clock.advance(1_000);
          const result = await connecting;
          const outcomes: CallOutcome[][] = [];
          if (result.kind === 'connected') {
            const { connection } = result;
            const calls = Array.from({ length: callCount }, (_, index) => {
              const ended: CallOutcome[] = [];
              outcomes.push(ended);
              const request = echoCodec.request.encode({ text: 'x'.repeat(index * 40_000) });
              return connection.call({ method: echoPath, request, timeoutMs: 1_000 }, (outcome) => ended.push(outcome));
            });
            for (const chunk of chunks) {
              peer.write(chunk);
              await setImmediate();
            }
            await turns();
            // The limit of a call is its caller's: it cancels those that have not ended.
            const before = outcomes.map((ended) => ended.length);
            for (const { cancel } of calls) cancel();
            connection.close();
            await connection.ended;
            expect(outcomes.map((ended) => ended.length)).toEqual(before);
          }
          expect(outcomes.every((ended) => ended.length <= 1)).toBe(true);
          const isEnded = (outcome: CallOutcome | undefined): boolean =>
            outcome?.kind === 'failed' && outcome.status.code !== 'Unavailable';
          if (outcomes.some(([outcome]) => isEnded(outcome))) endedRuns += 1;
          await peer.closed;
          expect(clock.pending).toBe(0);
          await expect.poll(() => server.openCount() === 0, { interval: 1 }).toBe(true);
        },
      ),
      { seed: 302, numRuns },
    );
    expect(endedRuns).toBeGreaterThan(numRuns / 10);
  },
  timeoutMs,
);
