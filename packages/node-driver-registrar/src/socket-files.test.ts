// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { systemSocketFiles } from './socket-files.ts';
import { clearStaleSocket } from './stale-socket.ts';

const system = systemSocketFiles();

it.each([{ look: system.look }, { look: system.lookAtEntry }])(
  'given an entry, then its identity is made of numbers; a missing one is none, and a folder that is a file is a failure',
  async ({ look }) => {
    expect(await look('/')).toEqual({ isSocket: false, identity: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
    expect(await look('/no-such-entry')).toBe(undefined);
    await expect(look(`${process.execPath}/entry`)).rejects.toThrow('ENOTDIR');
  },
);

it('given a stale socket that cannot be looked at or removed, then the failure below is the cause', async () => {
  const failure = new Error('read-only');
  const fails = () => Promise.reject(failure);
  const found = () => Promise.resolve({ isSocket: true, identity: '1' });
  for (const files of [
    { ...system, look: fails },
    { ...system, look: found, remove: fails },
  ]) {
    await expect(clearStaleSocket(files, '/socket', 'unix')).rejects.toMatchObject({ cause: failure });
  }
});
