// SPDX-License-Identifier: Apache-2.0
import { done, dropped, retry } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { anAttachment } from '../testing/builders.ts';
import { type AttachmentKey, attachmentKey } from './attachment.ts';
import { createAttachmentRuns } from './attachment-runs.ts';

const va = anAttachment();
const keyNamed = (name: string): AttachmentKey => attachmentKey(anAttachment({ name }));
const key = keyNamed('va1');

describe('forced attachments', () => {
  it.each([
    { outcome: done, after: false },
    { outcome: retry(new Error('no')), after: true },
    { outcome: dropped, after: true },
  ])('given a forced run that ends with $outcome.kind, then the next run is forced: $after', ({ outcome, after }) => {
    const runs = createAttachmentRuns();
    expect(runs.isForced(va)).toBe(false);
    runs.force(va);
    expect(runs.isForced(va)).toBe(true);
    runs.end(key, outcome);
    expect(runs.isForced(va)).toBe(after);
  });

  it('given a forced run that throws, when the run ends, then the next run is forced and its call is over', () => {
    const runs = createAttachmentRuns();
    runs.force(va);
    runs.noteCall(key);
    runs.end(key, undefined);
    using calls = runs.watchCalls();
    expect([runs.isForced(va), calls.has(va)]).toEqual([true, false]);
  });

  it('given a forced attachment, when the driver agrees with its status again, then the next run is not forced', () => {
    const runs = createAttachmentRuns();
    runs.force(va);
    runs.unforce(va);
    expect(runs.isForced(va)).toBe(false);
  });

  it.each([
    { status: 'attached', attached: true, after: true },
    { status: 'not attached', attached: false, after: false },
  ])(
    'given a forced attachment whose status is $status, when its volume is unpublished, then it stays forced: $after',
    ({ attached, after }) => {
      const forced = anAttachment({ status: { attached } });
      const runs = createAttachmentRuns();
      runs.force(forced);
      runs.noteUnpublished(key);
      expect(runs.isForced(forced)).toBe(after);
    },
  );

  it('given an attachment without a UID that was never forced, then it is not forced', () => {
    const { uid: _uid, ...metadata } = va.metadata ?? {};
    expect(createAttachmentRuns().isForced({ ...va, metadata })).toBe(false);
  });

  it('given a forced attachment, when its status is another one, then it is not forced; when it is gone, then nothing is left', () => {
    const runs = createAttachmentRuns();
    runs.force(va);
    const changed = anAttachment({ status: { attached: true } });
    expect(runs.isForced(changed)).toBe(false);
    runs.forget(changed);
    expect(runs.isForced(va)).toBe(false);
  });

  it('given a forced object, when it is gone, then another object of the same name is not forced', () => {
    const runs = createAttachmentRuns();
    runs.force(va);
    expect(runs.isForced(anAttachment({ uid: 'another' }))).toBe(false);
    runs.forget(anAttachment({ uid: 'another' }));
    expect(runs.isForced(va)).toBe(true);
    runs.forget(va);
    expect(runs.isForced(va)).toBe(false);
  });
});

describe('watched calls', () => {
  it('given runs with a call before, during and after a watch, then the watch has exactly those that were in flight during it', () => {
    const runs = createAttachmentRuns();
    const names = ['before', 'across', 'during', 'after', 'without'];
    const run = (name: string): void => {
      if (name !== 'without') runs.noteCall(keyNamed(name));
      runs.end(keyNamed(name), done);
    };
    run('before');
    runs.noteCall(keyNamed('across'));
    const calls = runs.watchCalls();
    run('during');
    run('without');
    runs.end(keyNamed('across'), done);
    calls[Symbol.dispose]();
    run('after');
    expect(names.filter((name) => calls.has(anAttachment({ name })))).toEqual(['across', 'during']);
  });
});
