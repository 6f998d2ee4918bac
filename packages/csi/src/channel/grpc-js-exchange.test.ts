// SPDX-License-Identifier: Apache-2.0
import { type Client, status } from '@grpc/grpc-js';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import type { Exchange } from './exchange.ts';
import { exchangeOn } from './grpc-js-exchange.ts';

/** As grpc-js: what the decoder throws ends the call as Internal. */
function answering(bytes: Buffer): Exchange {
  const makeUnaryRequest = (...args: unknown[]): { cancel: () => void } => {
    const [, , decode, , , done] = args as [
      unknown,
      unknown,
      (bytes: Buffer) => unknown,
      unknown,
      unknown,
      (error: object | null, response?: unknown) => void,
    ];
    queueMicrotask(() => {
      try {
        done(null, decode(bytes));
      } catch (error) {
        done({ code: status.INTERNAL, details: `Response message parsing error: ${String(error)}` });
      }
    });
    return { cancel: () => undefined };
  };
  return exchangeOn({ clock: new FakeClock(), client: { makeUnaryRequest } as unknown as Client });
}

it('given an answer that cannot be decoded, then the failure says that the driver did answer', async () => {
  const method = '/csi.v1.Controller/CreateVolume';
  const outcome = await answering(Buffer.from([0x0a, 0xff]))(method, {}, { timeoutMs: 1000 });
  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'Internal', method, isUnreadable: true } });
  const readable = await answering(Buffer.alloc(0))(method, {}, { timeoutMs: 1000 });
  expect(readable).toMatchObject({ kind: 'answered', response: { volume: null } });
});
