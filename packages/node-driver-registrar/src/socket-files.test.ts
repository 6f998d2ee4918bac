// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { systemSocketFiles } from './socket-files.ts';

const { look, lookAtEntry } = systemSocketFiles();

it.each([{ look }, { look: lookAtEntry }])(
  'given a folder that is a file, then looking at an entry in it fails, and no entry in a folder is none',
  async (files) => {
    await expect(files.look(`${process.execPath}/entry`)).rejects.toThrow('ENOTDIR');
    expect(await files.look('/no-such-entry')).toBe(undefined);
  },
);
