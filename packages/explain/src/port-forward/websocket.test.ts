// SPDX-License-Identifier: Apache-2.0
/** A port-forward to a server that does what the API server and kubelet do, and to servers that do not. */
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { askPodThrough } from './pod-port.ts';

const target = { namespace: 'storage', pod: 'csi-0', port: 8080 };
const answer = (body: string, head = `content-length: ${body.length}`): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${head}\r\n\r\n${body}`;
const onChannel = (channel: number, ...parts: readonly (string | Uint8Array)[]): Buffer =>
  Buffer.concat([Buffer.of(channel), ...parts.map((part) => Buffer.from(part))]);
/** 8080, the low byte first. */
const port = Uint8Array.of(0x90, 0x1f);

interface Script {
  /** What the pod does with the bytes of the request. */
  readonly pod?: (socket: WebSocket, request: string) => void;
  /** What follows the upgrade at once. Default: the port, on both channels. */
  readonly opened?: (socket: WebSocket) => void;
  /** In place of the upgrade. */
  readonly refuse?: (socket: Duplex) => void;
  readonly protocol?: string;
}

const sayPort = (socket: WebSocket): void => {
  socket.send(onChannel(0, port));
  socket.send(onChannel(1, port));
};

async function serving({
  pod = () => undefined,
  opened: begin = sayPort,
  refuse,
  protocol = 'v4.channel.k8s.io',
}: Script) {
  const server = createServer();
  const upgrades: IncomingMessage[] = [];
  const sockets = new Set<Duplex>();
  const webSockets = new WebSocketServer({ noServer: true, handleProtocols: () => protocol });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    upgrades.push(request);
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    if (refuse !== undefined) return refuse(socket);
    webSockets.handleUpgrade(request, socket, head, (opened) => {
      opened.on('error', () => undefined);
      begin(opened);
      opened.on('message', (message) => pod(opened, `${message[0]} ${message.subarray(1).toString()}`));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const dialed: Socket[] = [];
  onTestFinished(() => {
    for (const socket of dialed) socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  const dial = async () => {
    const { port: at } = server.address() as AddressInfo;
    const socket = connect(at, '127.0.0.1');
    dialed.push(socket);
    return { socket, url: new URL(`http://api.example.com:${at}/base`), headers: { authorization: 'Bearer t' } };
  };
  const askPod = askPodThrough(dial, { 'impersonate-user': 'u' });
  const ask = (signal: AbortSignal = new AbortController().signal) =>
    askPod(target, '/debug/explain?kind=pv&key=a', { signal });
  /** What is left open, once it has had time to close. */
  const left = async () => {
    for (const socket of dialed) if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
    return dialed.filter(({ destroyed }) => !destroyed).length;
  };
  return { ask, upgrades, left };
}

describe('a pod that answers', () => {
  it('[explain#81] given a port-forward, then the request is that of a client on the loopback of the pod, and nothing stays open', async () => {
    let request = '';
    const { ask, upgrades, left } = await serving({
      pod: (socket, text) => {
        request = text;
        socket.send(onChannel(0, answer('{"a":1}')));
      },
    });
    expect(await ask()).toEqual({ status: 200, contentType: 'application/json', body: '{"a":1}' });
    expect(request.split('\r\n').slice(0, 3)).toEqual([
      '0 GET /debug/explain?kind=pv&key=a HTTP/1.1',
      'accept: application/json',
      'Host: 127.0.0.1:8080',
    ]);
    expect(request).not.toMatch(/origin|bearer|impersonate/i);
    expect([upgrades.length, await left()]).toEqual([1, 0]);
    const [{ url, headers }] = upgrades as [IncomingMessage];
    expect(url).toBe('/base/api/v1/namespaces/storage/pods/csi-0/portforward?ports=8080');
    expect(headers).toMatchObject({
      authorization: 'Bearer t',
      'impersonate-user': 'u',
      'sec-websocket-protocol': 'v4.channel.k8s.io',
    });
    expect(headers.host).toMatch(/^api\.example\.com:\d+$/);
  });

  it('given an answer in pieces of one byte, then it is whole', async () => {
    const { ask } = await serving({
      pod: (socket) => {
        for (const byte of Buffer.from(answer('{}'))) socket.send(onChannel(0, Uint8Array.of(byte)));
      },
    });
    expect((await ask()).body).toBe('{}');
  });

  it('given an answer that ends with the connection, then it is whole', async () => {
    const { ask } = await serving({
      pod: (socket) => {
        socket.send(onChannel(0, answer('{}', 'connection: close')));
        socket.close();
      },
    });
    expect((await ask()).body).toBe('{}');
  });
});

describe('whatever else happens', () => {
  const refusing =
    (status: string, body = 'body') =>
    (socket: Duplex) => {
      // The server leaves it open.
      socket.write(`HTTP/1.1 ${status}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    };
  it.each<readonly [title: string, script: Script, message: string]>([
    [
      '[explain#78] given no right',
      { refuse: refusing('403 Forbidden') },
      'you may not get and create pods/portforward in storage',
    ],
    ['given a pod that is gone', { refuse: refusing('404 Not Found') }, 'the API server knows no pod storage/csi-0'],
    ['given a server that is broken', { refuse: refusing('502 Bad Gateway') }, 'answers 502 to a port-forward: body'],
    [
      'given an API server that does not reach kubelet',
      { refuse: refusing('500 Internal Server Error', '{"kind":"Status","message":"lookup node-1: no such host"}') },
      'answers 500 to a port-forward: lookup node-1: no such host',
    ],
    ['given a redirect', { refuse: refusing('302 Found\r\nlocation: http://evil.example.com') }, 'answers 302'],
    ['given a connection that ends', { refuse: (socket) => void socket.destroy() }, 'socket hang up'],
    ['given nonsense', { refuse: (socket) => void socket.end('nonsense\r\n\r\n') }, 'Parse Error'],
    ['given another subprotocol', { protocol: 'v5.channel.k8s.io' }, 'invalid subprotocol'],
    [
      'given a port at which no process listens',
      { pod: (socket) => socket.send(onChannel(1, 'dial tcp 127.0.0.1:8080: connection refused\n')) },
      'the port-forward has failed: dial tcp 127.0.0.1:8080: connection refused',
    ],
    [
      'given a port at which no process listens, which is reported before the request',
      {
        opened: (socket) => {
          sayPort(socket);
          socket.send(onChannel(1, 'dial tcp: connection refused'));
        },
      },
      'the port-forward has failed: dial tcp: connection refused',
    ],
    ['given a connection that is closed at once', { opened: (socket) => socket.close() }, 'not open'],
    ['given a channel that does not exist', { pod: (socket) => socket.send(onChannel(7, 'x')) }, 'of no channel'],
    ['given an empty message', { pod: (socket) => socket.send(new Uint8Array()) }, 'of no channel'],
    [
      'given an end in the middle of the answer',
      {
        pod: (socket) => {
          socket.send(onChannel(0, answer('{}', 'content-length: 3')));
          socket.close();
        },
      },
      'aborted',
    ],
    [
      '[explain#80] given ten mebibytes',
      {
        pod: (socket) => {
          socket.send(onChannel(0, answer('', `content-length: ${10 * 1_048_576}`)));
          for (let part = 0; part < 320; part += 1) socket.send(onChannel(0, 'x'.repeat(32_768)));
        },
      },
      'more than 64 KiB',
    ],
    [
      '[explain#80] given one message of ten mebibytes',
      { pod: (socket) => socket.send(onChannel(0, 'x'.repeat(10 * 1_048_576))) },
      'Max payload size exceeded',
    ],
    [
      '[explain#80] given a head without an end',
      {
        pod: (socket) => {
          socket.send(onChannel(0, 'HTTP/1.1 200 OK\r\n'));
          for (let part = 0; part < 40; part += 1) socket.send(onChannel(0, `a${part}: ${'x'.repeat(1_024)}\r\n`));
        },
      },
      'Header overflow',
    ],
  ])('%s, then it is rejected with the reason, and nothing stays open', async (_title, script, message) => {
    const { ask, left } = await serving(script);
    await expect(ask()).rejects.toThrow(message);
    expect(await left()).toBe(0);
  });

  it.each<readonly [string, Script]>([
    ['an API server that is silent', { refuse: () => undefined }],
    ['a pod that is silent', {}],
  ])(
    '[explain#78] given %s, then it is rejected with the reason of the signal, and nothing stays open',
    async (_what, script) => {
      const { ask, left, upgrades } = await serving(script);
      const stop = new AbortController();
      const asked = ask(stop.signal);
      await expect.poll(() => upgrades.length).toBe(1);
      stop.abort(new Error('enough'));
      await expect(asked).rejects.toThrow('enough');
      expect(await left()).toBe(0);
    },
  );

  it('given a signal that has aborted while the server was dialed, then nothing is asked', async () => {
    const { ask, left } = await serving({});
    await expect(ask(AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
    expect(await left()).toBe(0);
  });
});
