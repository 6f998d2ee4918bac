// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { memoryOf } from './memory.ts';

it.runIf(process.platform === 'linux')(
  'given a running process, then its memory is known; given none, then nothing is',
  () => {
    const memory = memoryOf(process.pid);
    expect(memory?.anonymousKiB).toBeGreaterThan(1000);
    expect(memory?.maxResidentKiB).toBeGreaterThan(memory?.anonymousKiB ?? 0);
    expect(memoryOf(2 ** 22 + 1)).toBeUndefined();
  },
);
