// SPDX-License-Identifier: Apache-2.0
import { createServer, type ServerHttp2Stream } from 'node:http2';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Metadata, status } from '@grpc/grpc-js';
import { until } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { codecOf, serveCsi, type ServedStream } from '../../testing/index.ts';
import { createDriverStreams } from './driver-streams.ts';
import type { MessageStream } from './server-stream.ts';

const allocated = '/csi.v1.SnapshotMetadata/GetMetadataAllocated';
type Served = ServedStream<typeof allocated>;
const never = new AbortController().signal;

async function read(stream: MessageStream) {
  const messages: object[] = [];
  for (;;) {
    const next = await stream.next();
    if (next.done === true) return { messages, end: next.value };
    messages.push(codecOf(allocated).responseDeserialize(next.value));
  }
}

const blockAt = (offset: number) => ({
  block_metadata_type: 'FIXED_LENGTH' as const,
  volume_capacity_bytes: '1048576',
  block_metadata: [{ byte_offset: String(offset), size_bytes: '4096' }],
});

async function streaming(serve: (call: Served) => void) {
  const driver = await serveCsi({ [allocated]: serve });
  const streams = createDriverStreams(driver.path);
  return {
    driver,
    open: (signal = never) => streams.open(allocated, { snapshot_id: 'snap-1' }, { signal, timeoutMs: 60_000 }),
    close: streams.close,
    async [Symbol.asyncDispose]() {
      streams.close();
      await driver[Symbol.asyncDispose]();
    },
  };
}

it('given a driver that fails right after two messages, then both are delivered before its status, which is unchanged', async () => {
  const details = Buffer.from([8, 5, 18, 1, 120]);
  await using driver = await streaming((call) => {
    call.write(blockAt(0));
    call.write(blockAt(4096));
    const metadata = new Metadata();
    metadata.set('grpc-status-details-bin', details);
    call.emit('error', { code: status.NOT_FOUND, details: 'gone: 100 % ü', metadata });
  });
  const { messages, end } = await read(driver.open());
  expect(messages).toHaveLength(2);
  expect(end).toEqual({ code: 'NotFound', detail: 'gone: 100 % ü', statusDetails: details });
});

it('given a driver that ends without a message, then the status is OK', async () => {
  await using driver = await streaming((call) => call.end());
  expect(await read(driver.open())).toEqual({ messages: [], end: { code: 'OK', detail: 'OK' } });
});

it('given a request, then the driver gets it with the deadline', async () => {
  let seen: { readonly request: object; readonly leftMs: number } | undefined;
  await using driver = await streaming((call) => {
    seen = { request: call.request, leftMs: Number(call.getDeadline()) - Date.now() };
    call.end();
  });
  await read(driver.open());
  expect(seen?.request).toMatchObject({ snapshot_id: 'snap-1', starting_offset: '0', secrets: {} });
  expect(seen?.leftMs).toBeGreaterThan(50_000);
  expect(seen?.leftMs).toBeLessThanOrEqual(60_000);
});

it.each(['the signal aborts', 'the reader ends early'])(
  'given that %s, then the driver sees a cancellation',
  async (how) => {
    let cancelled = false;
    await using driver = await streaming((call) => {
      call.on('cancelled', () => (cancelled = true));
      call.write(blockAt(0));
    });
    const stop = new AbortController();
    const stream = driver.open(stop.signal);
    await stream.next();
    if (how === 'the signal aborts') {
      const rest = stream.next();
      stop.abort();
      expect(await rest).toEqual({ done: true, value: { code: 'Canceled', detail: 'context canceled' } });
    } else {
      await stream.return({ code: 'OK', detail: '' });
    }
    await until(() => cancelled);
  },
);

it('given a driver that is lost, then its streams are Unavailable; given that it is back, then the next stream works', async () => {
  const handlers = { [allocated]: (call: Served) => void call.write(blockAt(0)) };
  const first = await serveCsi(handlers);
  const streams = createDriverStreams(first.path);
  const options = { signal: never, timeoutMs: 1000 };
  const stream = streams.open(allocated, {}, options);
  await stream.next();
  first.stop();
  const { end } = await read(stream);
  expect(end.code).toBe('Unavailable');
  const unreachable = await read(streams.open(allocated, {}, options));
  expect(unreachable.end.code).toBe('Unavailable');
  await using second = await serveCsi({ [allocated]: (call: Served) => void call.end() }, first.path);
  expect(second.path).toBe(first.path);
  expect((await read(streams.open(allocated, {}, options))).end.code).toBe('OK');
  streams.close();
  expect((await read(streams.open(allocated, {}, options))).end.code).toBe('Unavailable');
});

/** A server of HTTP/2 that is no gRPC server, or a broken one. */
async function answering(serve: (stream: ServerHttp2Stream) => void) {
  const folder = mkdtempSync(join(tmpdir(), 'stream-'));
  const path = join(folder, 's');
  const server = createServer();
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => undefined);
    serve(stream);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const streams = createDriverStreams(path);
  const result = await read(streams.open(allocated, {}, { signal: never }));
  streams.close();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
  return result.end;
}

it('given a driver, then it may send 16 KiB of a stream that is not read', async () => {
  let window: number | undefined;
  await answering((stream) => {
    window = stream.session?.remoteSettings.initialWindowSize;
    stream.close(2);
  });
  expect(window).toBe(16 * 1024);
});

it('given an empty message, and one that arrives byte by byte, then both are read', async () => {
  const end = { 'grpc-status': '0' };
  const messages: number[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'stream-'));
  const server = createServer();
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.respond(grpc, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(end));
    const bytes = [...Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3])];
    const next = (): void => {
      const byte = bytes.shift();
      if (byte === undefined) stream.end();
      else stream.write(Buffer.from([byte]), () => setImmediate(next));
    };
    next();
  });
  await new Promise<void>((resolve) => server.listen(join(folder, 's'), resolve));
  const streams = createDriverStreams(join(folder, 's'));
  const stream = streams.open(allocated, {}, { signal: never });
  for (;;) {
    const next = await stream.next();
    if (next.done === true) {
      expect(next.value.code).toBe('OK');
      break;
    }
    messages.push(next.value.length);
  }
  expect(messages).toEqual([0, 3]);
  streams.close();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});

const grpc = { ':status': 200, 'content-type': 'application/grpc' };
it.each([
  {
    given: 'HTTP 502',
    serve: (s: ServerHttp2Stream) => s.respond({ ':status': 502 }, { endStream: true }),
    code: 'Unavailable',
  },
  {
    given: 'a page of HTML',
    serve: (s: ServerHttp2Stream) => {
      s.respond({ ':status': 200, 'content-type': 'text/html' });
      s.end();
    },
    code: 'Unknown',
  },
  { given: 'a reset with REFUSED_STREAM', serve: (s: ServerHttp2Stream) => s.close(7), code: 'Unavailable' },
  { given: 'a reset with INTERNAL_ERROR', serve: (s: ServerHttp2Stream) => s.close(2), code: 'Internal' },
  {
    given: 'a compressed message',
    serve: (s: ServerHttp2Stream) => {
      s.respond(grpc);
      s.write(Buffer.from([1, 0, 0, 0, 0]));
    },
    code: 'Unimplemented',
  },
])('given $given instead of a stream, then the code is $code', async ({ serve, code }) => {
  expect((await answering(serve)).code).toBe(code);
});

it('given the head of a message above 4 MiB, then the stream ends with ResourceExhausted and the size, without reading it', async () => {
  const end = await answering((stream) => {
    stream.respond(grpc);
    stream.write(Buffer.from([0, 0, 0x40, 0, 1]));
  });
  const detail = 'grpc: received message larger than max (4194305 vs. 4194304)';
  expect(end).toEqual({ code: 'ResourceExhausted', detail });
});

it('given half a message and then the status OK, then the code is Internal: what is missing must not look complete', async () => {
  const end = await answering((stream) => {
    stream.respond(grpc, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.from([0, 0, 0, 0, 9, 1]));
  });
  expect(end).toEqual({ code: 'Internal', detail: 'the stream has ended within a message' });
});
