// SPDX-License-Identifier: Apache-2.0
import { done, dropped, type Outcome, retry } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { anAttachment } from '../testing/builders.ts';
import { type AttachmentRuns, createAttachmentRuns } from './attachment-runs.ts';

const va = anAttachment();
const { signal } = new AbortController();
const run = (runs: AttachmentRuns, outcome: Outcome): Promise<Outcome> =>
  runs.record(() => Promise.resolve(outcome))('va1', signal);

describe('forced attachments', () => {
  it.each([
    { outcome: done, after: false },
    { outcome: retry(new Error('no')), after: true },
    { outcome: dropped, after: true },
  ])(
    'given a forced run that ends with $outcome.kind, then the next run is forced: $after',
    async ({ outcome, after }) => {
      const runs = createAttachmentRuns();
      expect(runs.isForced(va)).toBe(false);
      runs.force(va);
      expect(runs.isForced(va)).toBe(true);
      expect(await run(runs, outcome)).toBe(outcome);
      expect(runs.isForced(va)).toBe(after);
    },
  );

  it('given a forced run that throws, then the next run is forced, and no call is going on', async () => {
    const runs = createAttachmentRuns();
    runs.force(va);
    const failing = runs.record((key: string) => {
      runs.noteCall(key);
      return Promise.reject(new Error('defect'));
    });
    await expect(failing('va1', signal)).rejects.toThrow('defect');
    using calls = runs.watchCalls();
    expect([runs.isForced(va), calls.has(va)]).toEqual([true, false]);
  });

  it('given the driver agrees again, then the next run is not forced', () => {
    const runs = createAttachmentRuns();
    runs.force(va);
    runs.unforce(va);
    expect(runs.isForced(va)).toBe(false);
  });

  it('given the object is gone, then one of the same name is not forced', () => {
    const runs = createAttachmentRuns();
    runs.force(va);
    expect(runs.isForced(anAttachment({ uid: 'another' }))).toBe(false);
    runs.handler.delete?.({ key: 'va1' as never, object: va, observed: true });
    expect(runs.isForced(va)).toBe(false);
  });
});

describe('watched calls', () => {
  it('given runs with a call before, during and after a watch, then it knows those that were going on', async () => {
    const runs = createAttachmentRuns();
    const end = Promise.withResolvers<Outcome>();
    const names = ['before', 'across', 'during', 'after', 'without'];
    const recorded = runs.record((key: string) => {
      if (key !== 'without') runs.noteCall(key);
      return key === 'across' ? end.promise : Promise.resolve(done);
    });
    await recorded('before', signal);
    const slow = recorded('across', signal);
    const calls = runs.watchCalls();
    await recorded('during', signal);
    await recorded('without', signal);
    end.resolve(done);
    await slow;
    calls[Symbol.dispose]();
    await recorded('after', signal);
    expect(names.filter((name) => calls.has(anAttachment({ name })))).toEqual(['across', 'during']);
  });
});
