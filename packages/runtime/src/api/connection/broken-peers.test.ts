// SPDX-License-Identifier: Apache-2.0
/** What is left of a connection after each way in which a peer can end, refuse or fall silent. Real sockets, virtual time. */
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { settle, until, type TestExchange } from '../../../testing/index.ts';
import {
  answerWatches,
  bodyText,
  createTransportFixture,
  rejectionOf,
  type RunningTransport,
} from '../../../testing/transport-fixture.ts';
import type { Rotation } from './server-transport.ts';

const fixture = createTransportFixture();
afterEach(fixture.closeAll);

interface Scene extends RunningTransport {
  /** Exchanges that the server left open, newest last. */
  readonly open: TestExchange[];
  /** Calls that have begun and have neither failed nor ended. */
  readonly unsettled: () => number;
  readonly begin: (path: '/watch' | '/hangs') => void;
  rotation: Rotation;
}

async function aScene(): Promise<Scene> {
  const open: TestExchange[] = [];
  const running = await fixture.setUp({
    answer: (exchange) => {
      if (exchange.request.url !== '/x') open.push(exchange);
      if (exchange.request.url !== '/hangs') answerWatches(exchange);
    },
    options: {
      tls: {
        options: () => ({ ca: fixture.authority.ca }),
        refresh: () => {
          const { rotation } = scene;
          scene.rotation = 'same';
          return rotation === 'same' ? undefined : Promise.resolve(rotation);
        },
      },
    },
  });
  let unsettled = 0;
  const scene: Scene = {
    ...running,
    open,
    rotation: 'same',
    unsettled: () => unsettled,
    begin: (path) => {
      unsettled += 1;
      void rejectionOf(running.get(path).then(bodyText)).then(() => (unsettled -= 1));
    },
  };
  return scene;
}

const states: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  idle: async ({ get }) => void (await bodyText(await get('/x'))),
  'waiting for an answer': async (scene) => {
    scene.begin('/hangs');
    await until(() => scene.open.length === 1);
  },
  watching: async (scene) => {
    await bodyText(await scene.get('/x'));
    scene.begin('/watch');
    await until(() => scene.open.length === 1);
  },
  'draining after GOAWAY': async (scene) => {
    await states['watching']?.(scene);
    scene.server.sessions[0]?.goaway(0);
    // A request on a new connection shows that the client has seen it. One that crosses it was not processed.
    while (scene.server.wires.length === 1) await rejectionOf(scene.get('/x').then(bodyText));
  },
  'draining after a change of authorities': async (scene) => {
    await states['watching']?.(scene);
    scene.rotation = 'trust';
    await bodyText(await scene.get('/x'));
  },
};

/** True if this always ends the connection, whatever its state. */
const peers: Readonly<Record<string, { readonly ends: boolean; readonly act: (scene: Scene) => void }>> = {
  'says nothing more': { ends: true, act: ({ server }) => server.wires[0]?.freeze() },
  'ends its half of the connection': { ends: true, act: ({ server }) => server.wires[0]?.end() },
  'resets the connection': { ends: true, act: ({ server }) => server.wires[0]?.reset() },
  'sends GOAWAY with an error': { ends: true, act: ({ server }) => server.sessions[0]?.goaway(2) },
  'sends GOAWAY': { ends: false, act: ({ server }) => server.sessions[0]?.goaway(0) },
  'refuses the stream': { ends: false, act: ({ open }) => open[0]?.stream?.close(7) },
  'goes on': { ends: false, act: () => undefined },
};

describe.each(Object.entries(states))('a connection that is %s', (_state, reach) => {
  it.each(Object.entries(peers))(
    '[runtime#181] given a peer that %s, then calls end, and after close no socket and no timer is left',
    async (_peer, { ends, act }) => {
      const scene = await aScene();
      await reach(scene);
      act(scene);
      if (ends) {
        await settle();
        await scene.clock.advance(45_000);
        await until(() => scene.unsettled() === 0 && scene.sockets[0]?.destroyed === true);
      }
      await scene.transport.close();
      await until(() => scene.unsettled() === 0);
      expect([scene.sockets.filter((socket) => !socket.destroyed), scene.clock.pending]).toEqual([[], 0]);
    },
  );
});

describe('a peer that falls silent while the connection is draining', () => {
  it('[runtime#181] given GOAWAY on an idle connection and no FIN, then its socket is closed without waiting for one', async () => {
    const { server, clock, sockets, transport, get } = await aScene();
    await bodyText(await get('/x'));
    server.wires[0]?.deafen();
    server.sessions[0]?.goaway(0);
    await until(() => sockets[0]?.destroyed === true && clock.pending === 0);
    expect(await bodyText(await get('/x'))).toBe('{"connection":1}');
    await transport.close();
  });

  it('[runtime#181] given GOAWAY, then the end of the last watch, and no FIN, then the socket is closed', async () => {
    const scene = await aScene();
    await states['watching']?.(scene);
    scene.server.wires[0]?.deafen();
    scene.server.sessions[0]?.goaway(0);
    scene.open[0]?.response.end();
    await until(() => scene.sockets[0]?.destroyed === true && scene.clock.pending === 0);
    expect(scene.unsettled()).toBe(0);
  });

  it('[runtime#181] given other authorities on an idle connection and no FIN, then its socket is closed', async () => {
    const scene = await aScene();
    await bodyText(await scene.get('/x'));
    scene.server.wires[0]?.deafen();
    scene.rotation = 'trust';
    expect(await bodyText(await scene.get('/x'))).toBe('{"connection":1}');
    await until(() => scene.sockets[0]?.destroyed === true);
  });
});

it('given a client certificate that has changed, then a watch is cut with that reason, and requests use another connection', async () => {
  const scene = await aScene();
  const watch = (await scene.get('/watch')).body[Symbol.asyncIterator]();
  await watch.next();
  scene.rotation = 'identity';
  expect(await bodyText(await scene.get('/x'))).toBe('{"connection":1}');
  const message = 'client certificate rotated, rejecting connection';
  expect(await rejectionOf(watch.next())).toMatchObject({ failure: 'reset', message });
});

it('[runtime#181] given any order of what clients and peers do, then close resolves and nothing is left', async () => {
  const actions: Readonly<Record<string, (scene: Scene) => unknown>> = {
    request: ({ begin }) => begin('/hangs'),
    watch: ({ begin }) => begin('/watch'),
    deafen: ({ server }) => server.wires.at(-1)?.deafen(),
    endWatch: ({ open }) => open.shift()?.response.end(),
    refuse: ({ open }) => open.at(-1)?.stream?.close(7),
    goaway: ({ server }) => server.sessions.at(-1)?.destroyed === false && server.sessions.at(-1)?.goaway(0),
    brokenGoaway: ({ server }) => server.sessions.at(-1)?.destroyed === false && server.sessions.at(-1)?.goaway(2),
    freeze: ({ server }) => server.wires.at(-1)?.freeze(),
    halfClose: ({ server }) => server.wires.at(-1)?.end(),
    reset: ({ server }) => server.wires.at(-1)?.reset(),
    trust: (scene) => (scene.rotation = 'trust'),
    identity: (scene) => (scene.rotation = 'identity'),
    wait: ({ clock }) => clock.advance(31_000),
    settle: async () => {
      for (let turn = 0; turn < 10; turn += 1) await settle();
    },
  };
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...Object.keys(actions)), { maxLength: 12 }), async (names) => {
      const scene = await aScene();
      for (const name of names) await actions[name]?.(scene);
      await scene.transport.close();
      await until(() => scene.unsettled() === 0);
      expect([scene.sockets.filter((socket) => !socket.destroyed), scene.clock.pending]).toEqual([[], 0]);
      await fixture.closeAll();
    }),
    { seed: 181, numRuns: 100 },
  );
}, 60_000);

it('[runtime#181] given a server that does not complete TLS, then close ends the attempt, its socket and its timers', async () => {
  const { server, clock, sockets, transport, get } = await aScene();
  const call = rejectionOf(get('/x'));
  await until(() => server.wires.length === 1);
  server.wires[0]?.freeze();
  await transport.close();
  expect(await call).toMatchObject({ failure: 'aborted', message: 'the transport is closed' });
  expect([sockets.map((socket) => socket.destroyed), clock.pending]).toEqual([[true], 0]);
});
