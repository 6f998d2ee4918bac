// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../api/objects.ts';
import { isTraceparent, namesOf, subjectOf } from './subject.ts';

const claim = {
  kind: 'PersistentVolumeClaim',
  metadata: { namespace: 'team', name: 'data', uid: 'c' },
  spec: { volumeName: 'pv-1' },
};
const volume = {
  kind: 'PersistentVolume',
  metadata: { name: 'pv-1', uid: 'v' },
  spec: { claimRef: { namespace: 'team', name: 'data', uid: 'c' } },
};
const attachment = {
  kind: 'VolumeAttachment',
  metadata: { name: 'csi-1', uid: 'a' },
  spec: { nodeName: 'n1', source: { persistentVolumeName: 'pv-1' } },
};
const snapshot = {
  kind: 'VolumeSnapshot',
  metadata: { namespace: 'team', name: 's', uid: 's' },
  spec: { source: { persistentVolumeClaimName: 'data' } },
};
const content = {
  kind: 'VolumeSnapshotContent',
  metadata: { name: 'sc', uid: 'sc' },
  spec: { volumeSnapshotRef: { name: 's', uid: 's' } },
};
const groupContent = {
  kind: 'VolumeGroupSnapshotContent',
  metadata: { name: 'gc', uid: 'gc' },
  spec: { volumeGroupSnapshotRef: { uid: 'g' } },
};
const unbound = {
  kind: 'PersistentVolume',
  metadata: { name: 'pv-2', uid: 'v2' },
  spec: { claimRef: { namespace: 'team', name: 'x' } },
};

describe('the trace of an object', () => {
  it.each<[string, KubeObject | undefined, KubeObject | undefined, string | undefined]>([
    ['a claim', claim, undefined, 'c'],
    ['a volume of a claim', volume, undefined, 'c'],
    ['a volume whose claim has no UID yet', unbound, undefined, 'v2'],
    ['an attachment of a volume of a claim', attachment, volume, 'c'],
    ['an attachment of a volume that is not known', attachment, undefined, 'a'],
    ['a snapshot', snapshot, undefined, 's'],
    ['the content of a snapshot', content, undefined, 's'],
    ['the content of a group', groupContent, undefined, 'g'],
    ['an object without a UID', { metadata: { name: 'x', uid: '' } }, undefined, undefined],
    ['no object', undefined, undefined, undefined],
  ])('given %s, then it is that of the right UID', (...[, object, of, uid]) => {
    expect(subjectOf(object, of).uid).toBe(uid);
  });

  it('given an annotation with a trace context, then it is handed on as it is, and no other annotation', () => {
    const annotations = { 'tracing.k8s.io/traceparent': 'anything', secret: 'x' };
    expect(subjectOf({ metadata: { annotations } }, undefined)).toEqual({ uid: undefined, traceparent: 'anything' });
  });
});

it('[explain#138] given annotations, then caches keep the one that names a trace, and not if it is longer than a trace context', () => {
  const name = 'tracing.k8s.io/traceparent';
  expect([
    isTraceparent(name, 'x'.repeat(55)),
    isTraceparent(name, 'x'.repeat(56)),
    isTraceparent('other', 'x'),
  ]).toEqual([true, false, false]);
});

describe('the names of an object', () => {
  it('given a claim, its volume and its attachment, then each is found by the claim and by the volume', () => {
    const common = {
      'k8s.namespace.name': 'team',
      'k8s.persistentvolumeclaim.name': 'data',
      'k8s.persistentvolume.name': 'pv-1',
    };
    expect(namesOf(claim, undefined)).toEqual({ ...common, 'csi_sidecars.object.uid': 'c' });
    expect(namesOf(volume, undefined)).toEqual({ ...common, 'csi_sidecars.object.uid': 'v' });
    expect(namesOf(attachment, volume)).toEqual({ ...common, 'csi_sidecars.object.uid': 'a', 'k8s.node.name': 'n1' });
  });

  it('given a snapshot, or no object, then names that do not apply are not there', () => {
    expect(namesOf(snapshot as KubeObject, undefined)).toEqual({
      'csi_sidecars.object.uid': 's',
      'k8s.namespace.name': 'team',
    });
    expect(namesOf(undefined, undefined)).toEqual({});
  });
});
