// SPDX-License-Identifier: Apache-2.0
/** Which changes of a VolumeAttachment wake the loop. */
import type { VolumeAttachment } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { anAttacher } from '../../testing/attacher-fixture.ts';
import { aCsiNode, anAttachment, type AttachmentFacts, aVolume, finalizer } from '../../testing/builders.ts';
import { annotations } from '../names.ts';
import { matters } from './loop.ts';

const error = { message: 'no', time: '2026-01-01T00:00:00Z' };
const failed: AttachmentFacts = { status: { attached: false, attachError: error } };

function changed(from: AttachmentFacts, to: AttachmentFacts, metadata: VolumeAttachment['metadata'] = {}): boolean {
  const next = anAttachment(to);
  const current = { ...next, metadata: { ...next.metadata, resourceVersion: '8', ...metadata } };
  return matters({ previous: anAttachment(from), current, isInInitialList: false }, finalizer);
}

describe('the filter', () => {
  it('[attacher#87] given the same resource version again, then the change is a resync and wakes the loop', () => {
    const change = { previous: anAttachment(), current: anAttachment(), isInInitialList: false };
    expect(matters(change, finalizer)).toBe(true);
  });

  it('[attacher#88] given a change of the spec, then it wakes the loop', () => {
    expect(changed({}, { node: 'node2' })).toBe(true);
  });

  it('[attacher#89] given a new annotation on an attachment with or without an error, then it wakes the loop', () => {
    expect([changed({}, { annotations: { a: 'b' } }), changed(failed, { ...failed, annotations: { a: 'b' } })]).toEqual(
      [true, true],
    );
  });

  it.each([
    { id: '[attacher#90]', field: 'attachError' },
    { id: '[attacher#91]', field: 'detachError' },
  ])('$id given a new or changed $field, then it does not wake the loop', ({ field }) => {
    const first = { status: { attached: false, [field]: error } };
    const second = { status: { attached: false, [field]: { ...error, message: 'still no' } } };
    expect([changed({}, first), changed(first, second)]).toEqual([false, false]);
  });

  it('[attacher#92] given a change of managed fields alone, with or without an error, then it does not wake the loop', () => {
    const managedFields = [{ manager: 'x' }];
    expect([changed({}, {}, { managedFields }), changed(failed, failed, { managedFields })]).toEqual([false, false]);
  });

  it('[attacher#93] given an update that sets attached and removes the error, then it wakes the loop', () => {
    expect(changed(failed, { status: { attached: true } })).toBe(true);
  });

  it('[attacher#94] given a deletion of an attachment with an error, then it wakes the loop', () => {
    expect(changed(failed, { ...failed, deleting: 'yes' })).toBe(true);
  });

  it('given our own finalizer and node id, then they do not wake the loop; a finalizer of others does', () => {
    const mine = { finalizers: [finalizer], annotations: { [annotations.nodeId]: 'n' } };
    expect([changed({}, mine), changed({}, { finalizers: ['x/y'] })]).toEqual([false, true]);
  });
});

describe('the loop', () => {
  it('[attacher#95] given a resync during the backoff, then one more attempt is made at once, and the failure count stays', async () => {
    const a = await anAttacher({ seed: [anAttachment(), aVolume()], settings: { resyncMs: 100_000 } });
    const attempts = (): number => a.writes().length;
    await a.clock.advance(99_000);
    const before = attempts();
    expect(before).toBe(7);
    await a.clock.advance(16_000);
    expect(attempts()).toBe(before + 1);
    // The attempt of the resync at 100 s was the eighth failure. It replaces the retry at 127 s that the seventh had scheduled.
    const failures = () => a.logger.lines.findLast(({ message }) => message.startsWith('Reconcile failed'))?.facts;
    expect(failures()).toMatchObject({ key: 'va1', failures: 8 });
    await a.clock.advance(80_000);
    expect(attempts()).toBe(before + 1);
  });

  it('[attacher#96] given a deletion that is only learned from a list, then the PersistentVolume is released as after any deletion', async () => {
    const a = await anAttacher({ seed: [anAttachment(), aVolume({ deleting: 'yes' }), aCsiNode()] });
    expect(a.attachment()?.status?.attachError?.message).toContain('marked for deletion');
    a.server.endWatches('broken');
    a.server.objects.remove((await import('@csi-sidecars/runtime')).volumeAttachments, { name: 'va1' });
    a.server.compact();
    await a.clock.advance(60_000);
    expect(a.volume()).toBeUndefined();
    expect(a.writes().at(-1)).toBe('patch persistentvolumes pv1 200');
  });
});
