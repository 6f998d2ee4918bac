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

  it('given a forced run that throws, then the next run is forced, and no run is going on', async () => {
    const runs = createAttachmentRuns();
    runs.force(va);
    const failing = runs.record(() => Promise.reject(new Error('defect')));
    await expect(failing('va1', signal)).rejects.toThrow('defect');
    using watched = runs.watch();
    expect([runs.isForced(va), watched.hasRun(va)]).toEqual([true, false]);
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

describe('watched runs', () => {
  it('given runs before, during and after a watch, then it knows those that were going on', async () => {
    const runs = createAttachmentRuns();
    const end = Promise.withResolvers<Outcome>();
    const names = ['va1', 'va2', 'va3', 'va4'];
    const attachments = names.map((name) => anAttachment({ name }));
    const recorded = runs.record((key: string) => (key === 'va2' ? end.promise : Promise.resolve(done)));
    await recorded('va1', signal);
    const slow = recorded('va2', signal);
    using watched = runs.watch();
    await recorded('va3', signal);
    end.resolve(done);
    await slow;
    expect(names.filter((_, index) => watched.hasRun(attachments[index]!))).toEqual(['va2', 'va3']);
    watched[Symbol.dispose]();
    await recorded('va4', signal);
    expect(watched.hasRun(anAttachment({ name: 'va4' }))).toBe(false);
  });
});
