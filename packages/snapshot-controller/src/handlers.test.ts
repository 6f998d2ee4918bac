// SPDX-License-Identifier: Apache-2.0
import { toObjectKey } from '@csi-sidecars/runtime';
import { snapshotAnnotations, snapshotFinalizers, type VolumeSnapshotContent } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClass, aContent, aSnapshot } from '../testing/builders.ts';
import { singleMark } from './content-mark.ts';
import { isErrorOnly, ofClass, referringTo } from './handlers.ts';

const content = aContent();
const key = toObjectKey('team', 'snap');
const woken = (previous: VolumeSnapshotContent | undefined, current: VolumeSnapshotContent | undefined): unknown =>
  referringTo({ previous, current }, { referenceOf: ({ spec }) => spec?.volumeSnapshotRef, mark: singleMark });
const marked = aContent({ metadata: { annotations: { [snapshotAnnotations.beingDeleted]: 'yes', a: 'b' } } });

describe('a content wakes the object to which it refers', () => {
  it.each([
    { what: 'that appears', previous: undefined, current: content },
    { what: 'that is gone', previous: content, current: undefined },
    { what: 'that begins to be deleted', previous: content, current: aContent({ deleting: 'yes' }) },
    { what: 'with another spec', previous: content, current: aContent({ spec: { deletionPolicy: 'Retain' } }) },
    { what: 'with another status', previous: content, current: aContent({ status: { readyToUse: true } }) },
    {
      what: 'that loses its being-deleted annotation',
      previous: marked,
      current: aContent({ metadata: { annotations: { a: 'b' } } }),
    },
    { what: 'that loses its finalizer', previous: content, current: aContent({ metadata: { finalizers: ['a'] } }) },
  ])('given one $what, then the object is woken', ({ previous, current }) => {
    expect(woken(previous, current)).toBe(key);
  });

  it.each([
    {
      what: 'that gets another annotation',
      previous: content,
      current: aContent({ metadata: { annotations: { a: 'b' } } }),
    },
    { what: 'that gets the being-deleted annotation, as by our own write', previous: content, current: marked },
    {
      what: 'that gets its finalizer, as by our own write',
      previous: aContent({ metadata: { finalizers: [] } }),
      current: content,
    },
    {
      what: 'that loses the finalizer of somebody else',
      previous: aContent({ metadata: { finalizers: [snapshotFinalizers.content, 'a'] } }),
      current: content,
    },
    { what: 'that refers to nothing', previous: undefined, current: { ...content, spec: {} } },
  ])('given one $what, then nothing is woken', ({ previous, current }) => {
    expect(woken(previous, current)).toBeUndefined();
  });
});

describe('an error in the status', () => {
  const failed = { readyToUse: false, error: { message: 'a', time: '2026-01-01T00:00:00Z' } };
  const failedAgain = { readyToUse: false, error: { message: 'b', time: '2026-01-01T00:00:01Z' } };

  it.each([
    { what: 'the first one', previous: aSnapshot(), current: aSnapshot({ status: failed }), is: true },
    {
      what: 'another one',
      previous: aSnapshot({ status: failed, metadata: { resourceVersion: '1' } }),
      current: aSnapshot({ status: failedAgain, metadata: { resourceVersion: '2' } }),
      is: true,
    },
    {
      what: 'one that ends the readiness',
      previous: aSnapshot({ status: { readyToUse: true } }),
      current: aSnapshot({ status: failed }),
      is: false,
    },
    {
      what: 'one together with a creation time',
      previous: aSnapshot({ status: failed }),
      current: aSnapshot({ status: { ...failedAgain, creationTime: '2026-01-01T00:00:00Z' } }),
      is: false,
    },
    {
      what: 'one together with an annotation',
      previous: aSnapshot({ status: failed }),
      current: aSnapshot({ status: failedAgain, metadata: { annotations: { a: 'b' } } }),
      is: false,
    },
    {
      what: 'one together with a change of the spec',
      previous: aSnapshot({ status: failed }),
      current: aSnapshot({ status: failedAgain, spec: { volumeSnapshotClassName: 'other' } }),
      is: false,
    },
    {
      what: 'the same one, offered again',
      previous: aSnapshot({ status: failed }),
      current: aSnapshot({ status: failed }),
      is: false,
    },
    { what: 'one of a snapshot that appears', previous: undefined, current: aSnapshot({ status: failed }), is: false },
  ])('given $what, then it is an error and nothing else: $is', ({ previous, current, is }) => {
    expect(isErrorOnly({ previous, current })).toBe(is);
  });
});

describe('a class wakes objects', () => {
  const named = { '': [aSnapshot({ name: 'nameless' })], gold: [aSnapshot()] };
  const objects = {
    byIndex: (_index: string, value: string) => (Object.hasOwn(named, value) ? named[value as keyof typeof named] : []),
  };

  it('given one that appears, then those that name it and those that name none are woken', () => {
    const change = { previous: undefined, current: aClass(), isInInitialList: false };
    expect(ofClass(change, objects)).toEqual([toObjectKey('team', 'nameless'), key]);
  });

  it('given one that was there at the start, then none is woken', () => {
    expect(ofClass({ previous: undefined, current: aClass(), isInInitialList: true }, objects)).toEqual([]);
  });

  it('given one that is gone, then those that name none are woken', () => {
    const change = { previous: aClass(), current: undefined, isInInitialList: false };
    expect(ofClass(change, objects)).toEqual([toObjectKey('team', 'nameless')]);
  });
});
