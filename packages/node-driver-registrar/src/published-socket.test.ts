// SPDX-License-Identifier: Apache-2.0
/** Every operation on the folder that kubelet watches, in order, and the end of each server. */
import { FakeClock, settle } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { publishSocket } from './published-socket.ts';
import type { SocketFiles } from './socket-files.ts';

const path = '/d/a-reg.sock';

function aFolder(faults: Partial<SocketFiles> = {}) {
  const clock = new FakeClock();
  const hidden = `/d/.${Math.trunc(clock.nowMs()).toString(36).slice(-6)}`;
  const entries = new Map<string, string>();
  const steps: string[] = [];
  let servers = 0;
  const named = (entry: string): string => (entry === hidden ? 'hidden' : entry);
  const files: SocketFiles = {
    look: () => Promise.reject(new Error('links are not followed here')),
    lookAtEntry: async (entry) => {
      const identity = entries.get(entry);
      return identity === undefined ? undefined : { isSocket: true, identity };
    },
    remove: async (entry) => {
      steps.push(`remove ${named(entry)}`);
      await faults.remove?.(entry);
      await settle();
      entries.delete(entry);
    },
    rename: async (from, to) => {
      steps.push(`rename ${named(from)} to ${to}`);
      await faults.rename?.(from, to);
      await settle();
      entries.set(to, entries.get(from)!);
      entries.delete(from);
    },
    setMode: async (entry, mode) => {
      await settle();
      steps.push(`mode ${named(entry)} ${mode.toString(8)}`);
    },
  };
  const listen = async (entry: string) => {
    servers += 1;
    const server = servers;
    steps.push(`listen ${named(entry)}`);
    entries.set(entry, `identity ${server}`);
    return { close: () => void steps.push(`close ${server}`) };
  };
  const publish = (at = path) => publishSocket({ files, clock, listen }, at);
  return { entries, steps, publish, taken: () => steps.splice(0) };
}

const published = ['listen hidden', 'mode hidden 700', `rename hidden to ${path}`];

it('[node-driver-registrar#32] given an empty folder, then the socket listens under a hidden name, gets its mode and is renamed', async () => {
  const { steps, publish, entries } = aFolder();
  await publish();
  expect(steps).toEqual(published);
  expect([...entries]).toEqual([[path, 'identity 1']]);
});

it('given a socket that is there, then restoring it does nothing', async () => {
  const { taken, publish } = aFolder();
  const socket = await publish();
  taken();
  expect([await socket.restore(), taken()]).toEqual(['present', []]);
});

it('given a socket that is gone, then a new one is published before the server of the old one is closed', async () => {
  const { taken, publish, entries } = aFolder();
  const socket = await publish();
  taken();
  entries.delete(path);
  expect([await socket.restore(), taken()]).toEqual(['restored', [...published, 'close 1']]);
  await socket.withdraw();
  expect([taken(), entries.size]).toEqual([[`remove ${path}`, 'close 2'], 0]);
});

it.each([
  { given: 'another socket at the path', identity: 'foreign' },
  { given: 'no socket at the path', identity: undefined },
])('[node-driver-registrar#31,52] given $given, then the end removes nothing and closes the server', async (row) => {
  const { taken, publish, entries } = aFolder();
  const socket = await publish();
  taken();
  entries.delete(path);
  if (row.identity !== undefined) entries.set(path, row.identity);
  await socket.withdraw();
  expect(taken()).toEqual(['close 1']);
});

it.each([
  { code: 'ENOENT', fails: false },
  { code: 'EROFS', fails: true },
])(
  '[node-driver-registrar#53] given a removal that ends with $code, then the end fails: $fails, and the server is closed',
  async ({ code, fails }) => {
    const { taken, publish } = aFolder({ remove: () => Promise.reject(Object.assign(new Error(code), { code })) });
    const socket = await publish();
    taken();
    const end = await socket.withdraw().then(
      () => 'removed',
      (error: Error) => error.message,
    );
    expect([end, taken()]).toEqual([fails ? code : 'removed', [`remove ${path}`, 'close 1']]);
  },
);

it('given a folder in which nothing can be renamed or removed, then the server is closed, and the reason is that of the rename', async () => {
  const failing = (text: string) => () => Promise.reject(new Error(text));
  const { steps, publish } = aFolder({ rename: failing('no rename'), remove: failing('no removal') });
  await expect(publish()).rejects.toThrow('no rename');
  expect(steps).toEqual([...published, 'close 1', 'remove hidden']);
});

it('given a rename that fails, then the hidden entry is gone before that is reported', async () => {
  const { entries, publish } = aFolder({ rename: () => Promise.reject(new Error('no rename')) });
  await expect(publish()).rejects.toThrow('no rename');
  expect(entries.size).toBe(0);
});

it('[node-driver-registrar#34] given a path of 108 bytes, then nothing listens; 107 bytes are published', async () => {
  const { steps, taken, publish } = aFolder();
  const long = `/d/${'ä'.repeat(52)}`;
  await publish(long);
  expect([Buffer.byteLength(long), taken().length]).toEqual([107, 3]);
  await expect(publish(`${long}x`)).rejects.toThrow('longer than 107 bytes');
  expect(steps).toEqual([]);
});
