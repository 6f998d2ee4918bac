// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aVolume, driverName, finalizer, type VolumeFacts } from '../../testing/builders.ts';
import { annotations } from '../names.ts';
import { isReleasable } from './releasable.ts';

const gce = { csi: undefined, gcePersistentDisk: { pdName: 'disk' } } as unknown as VolumeFacts['spec'] & object;

it.each<{ given: string; volume: VolumeFacts; then: boolean }>([
  { given: 'no finalizer', volume: { finalizers: [], deleting: 'yes' }, then: false },
  { given: 'a finalizer of others only', volume: { finalizers: ['foo/bar'], deleting: 'yes' }, then: false },
  { given: 'our finalizer that is not being deleted', volume: {}, then: false },
  { given: 'our finalizer that is being deleted', volume: { deleting: 'yes' }, then: true },
  {
    given: 'our finalizer among others that is being deleted',
    volume: { finalizers: ['a/b', finalizer, 'c/d'], deleting: 'yes' },
    then: true,
  },
  { given: 'our finalizer, an in-tree source and no annotations', volume: { spec: gce }, then: true },
  {
    given: 'our finalizer, an in-tree source and unrelated annotations',
    volume: { spec: gce, annotations: { foo: 'bar' } },
    then: true,
  },
  {
    given: 'our finalizer and an in-tree source that is migrated to us',
    volume: { spec: gce, annotations: { [annotations.migratedTo]: driverName } },
    then: false,
  },
  {
    given: 'our finalizer and an in-tree source that is migrated to another driver',
    volume: { spec: gce, annotations: { [annotations.migratedTo]: 'other' } },
    then: true,
  },
  {
    given: 'our finalizer and an in-tree source that is migrated to us, being deleted',
    volume: { spec: gce, annotations: { [annotations.migratedTo]: driverName }, deleting: 'yes' },
    then: true,
  },
])('[attacher#112] given a volume with $given, then it may lose our finalizer: $then', ({ volume, then }) => {
  expect(isReleasable(aVolume(volume), driverName)).toBe(then);
});
