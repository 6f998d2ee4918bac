// SPDX-License-Identifier: Apache-2.0
/** Our two ends against nghttp2 (in Node.js) and against each other, over real sockets. grpc-js: packages/csi. */
import { type IncomingHttpHeaders, createServer as createHttp2Server } from 'node:http2';
import { connect } from 'node:net';
import { systemClock } from '@csi-sidecars/runtime';
import * as fc from 'fast-check';
import { afterEach, expect, it } from 'vitest';
import { type Text, echoCodec, echoMethods, echoPath } from '../testing/echo.ts';
import {
  preface,
  rawClient,
  requestFields,
  headersFrame,
  dataFrame,
  settings,
  socketPlace,
} from '../testing/raw-peer.ts';
import { type CallOutcome, connectClient } from './client/client.ts';
import { openSession } from './http2/session.ts';
import { frameMessage } from './message-frame.ts';
import { serveUnary } from './server/server.ts';

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

const clock = systemClock();

async function served(): Promise<string> {
  const { path } = stack.use(await socketPlace());
  const server = await serveUnary({ clock, methods: echoMethods() }, path);
  stack.defer(() => server.close());
  return path;
}

it.each(['/var/lib/kubelet/plugins_registry/a-reg.sock', '%2Fvar%2Flib%2Fa-reg.sock', 'localhost'])(
  'given the authority %s, which kubelets of some version send, then the call is answered',
  async (authority) => {
    const peer = await rawClient(await served());
    stack.defer(() => void peer.socket.destroy());
    const fields = requestFields(echoPath).map(
      ([name, value]) => [name, name === ':authority' ? authority : value] as const,
    );
    peer.write(preface, settings(), headersFrame(1, fields), dataFrame(1, frameMessage(Buffer.alloc(0)), 'last'));
    await peer.until('headers 1 end grpc-status=0');
  },
);

it('given messages of any size, several at a time, then the server answers our client', async () => {
  const result = await connectClient({ clock, limitMs: 1000 }, { kind: 'unix', path: await served() });
  if (result.kind === 'failed') throw new Error(result.reason);
  const { connection } = result;
  stack.defer(() => connection.close());
  const say = async (text: string): Promise<string> => {
    const done = Promise.withResolvers<CallOutcome>();
    connection.call({ method: echoPath, request: echoCodec.request.encode({ text }), timeoutMs: 10_000 }, done.resolve);
    const outcome = await done.promise;
    if (outcome.kind === 'failed') throw new Error(outcome.status.detail);
    return (echoCodec.response.decode(outcome.message) as Text).text;
  };
  const texts = [0, 1, 16_384, 65_535, 65_536, 1_000_000, 4_000_000].map((size) => 'x'.repeat(size));
  expect((await Promise.all(texts.map(say))).map((text) => text.length)).toEqual(texts.map((text) => text.length));
});

it('given any header values, compressed and indexed by nghttp2, then they are read as sent', async () => {
  const { path } = stack.use(await socketPlace());
  let values: readonly string[] = [];
  const server = createHttp2Server((_, response) => {
    response.writeHead(200, Object.fromEntries(values.map((value, index) => [`x-${index}`, value])));
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  stack.defer(() => void server.close());
  let received: (headers: IncomingHttpHeaders) => void = () => undefined;
  const ready = Promise.withResolvers<void>();
  const session = openSession(connect(path), 'client', {
    onReady: ready.resolve,
    onCapacity: () => undefined,
    onHeaders: (_, headers) => received(Object.fromEntries(headers)),
    onData: () => undefined,
    onReset: () => received({}),
    onClosed: () => received({}),
  });
  stack.defer(() => session.close('done'));
  await ready.promise;
  const fields = [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', '/'],
    [':authority', 'localhost'],
  ] as const;
  const ascii = fc.string({ unit: fc.integer({ min: 0x21, max: 0xff }).map((code) => String.fromCharCode(code)) });
  await fc.assert(
    fc.asyncProperty(fc.array(ascii, { maxLength: 8 }), async (given) => {
      values = given;
      const answered = new Promise<IncomingHttpHeaders>((resolve) => {
        received = resolve;
      });
      session.sendHeaders(session.begin() ?? 0, fields, 'last');
      const headers = await answered;
      expect(values.map((_, index) => headers[`x-${index}`])).toEqual(values);
    }),
    { seed: 192, numRuns: 200 },
  );
});
