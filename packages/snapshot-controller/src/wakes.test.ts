// SPDX-License-Identifier: Apache-2.0
import { toObjectKey } from '@csi-sidecars/runtime';
import type { VolumeSnapshotContent } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClass, aContent, aSnapshot } from '../testing/builders.ts';
import { ofClass, referringTo } from './wakes.ts';

const content = aContent();
const key = toObjectKey('team', 'snap');
const woken = (previous: VolumeSnapshotContent | undefined, current: VolumeSnapshotContent | undefined): unknown =>
  referringTo({ previous, current }, ({ spec }) => spec?.volumeSnapshotRef);

describe('a content wakes the object to which it refers', () => {
  it.each([
    { what: 'that appears', previous: undefined, current: content },
    { what: 'that is gone', previous: content, current: undefined },
    { what: 'that begins to be deleted', previous: content, current: aContent({ deleting: 'yes' }) },
    { what: 'with another spec', previous: content, current: aContent({ spec: { deletionPolicy: 'Retain' } }) },
    { what: 'with another status', previous: content, current: aContent({ status: { readyToUse: true } }) },
  ])('given one $what, then the object is woken', ({ previous, current }) => {
    expect(woken(previous, current)).toBe(key);
  });

  it('given one whose annotations change, or that refers to nothing, then nothing is woken', () => {
    expect(woken(content, aContent({ metadata: { annotations: { a: 'b' } } }))).toBeUndefined();
    expect(woken(undefined, { ...content, spec: {} })).toBeUndefined();
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

  it('given one that was there at the start, or that is gone, then none is woken', () => {
    expect(ofClass({ previous: undefined, current: aClass(), isInInitialList: true }, objects)).toEqual([]);
    expect(ofClass({ previous: aClass(), current: undefined, isInInitialList: false }, objects)).toEqual([]);
  });
});
