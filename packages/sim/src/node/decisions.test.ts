// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { CsiError } from '@csi-sidecars/csi';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '@csi-sidecars/runtime';
import { decidePod, type PodState } from './pod-loop.ts';
import { finished, infeasible, inProgress, isInfeasible, needsExpansion } from './expansion.ts';
import { nextStep, type VolumeOnNode } from './volume-steps.ts';

describe('a volume on a node', () => {
  const mounted: VolumeOnNode = {
    published: new Set(['pod']),
    staged: true,
    users: ['pod'],
    reported: true,
    registered: true,
    attached: true,
    expands: false,
  };
  const fresh = { ...mounted, published: new Set<string>(), staged: false };

  it.each<{ given: string; volume: VolumeOnNode; then: object }>([
    {
      given: 'mounted for a pod that is gone',
      volume: { ...mounted, users: [] },
      then: { kind: 'unpublish', pod: 'pod' },
    },
    {
      given: 'mounted for two, one gone',
      volume: { ...mounted, published: new Set(['pod', 'old']) },
      then: { kind: 'unpublish', pod: 'old' },
    },
    { given: 'staged, unused', volume: { ...fresh, staged: true, users: [] }, then: { kind: 'unstage' } },
    { given: 'unused', volume: { ...fresh, users: [] }, then: { kind: 'forget' } },
    { given: 'not reported', volume: { ...fresh, reported: false }, then: { kind: 'wait' } },
    { given: 'without its driver', volume: { ...fresh, registered: false }, then: { kind: 'wait' } },
    { given: 'not attached', volume: { ...fresh, attached: false }, then: { kind: 'wait' } },
    { given: 'attached', volume: fresh, then: { kind: 'stage' } },
    { given: 'staged', volume: { ...fresh, staged: true }, then: { kind: 'publish', pod: 'pod' } },
    {
      given: 'wanted by one more',
      volume: { ...mounted, users: ['pod', 'new'] },
      then: { kind: 'publish', pod: 'new' },
    },
    { given: 'grown', volume: { ...mounted, expands: true }, then: { kind: 'expand' } },
    { given: 'mounted', volume: mounted, then: { kind: 'none' } },
  ])('given it is $given, then: $then', ({ volume, then }) => {
    expect(nextStep(volume)).toEqual(then);
  });
});

describe('a pod on a node', () => {
  const volume: PersistentVolume = { metadata: { name: 'pv' } };
  const pending: PodState = {
    pod: { status: { phase: 'Pending' } },
    volumes: [{ volume, readOnly: false }],
    mounted: ['pv'],
  };
  const ending: Pod = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };

  it.each<{ given: string; state: Partial<PodState>; then: string }>([
    { given: 'its volumes mounted', state: {}, then: 'run' },
    { given: 'a volume missing', state: { mounted: [] }, then: 'none' },
    { given: 'a claim unbound', state: { volumes: 'unbound' }, then: 'none' },
    { given: 'no volumes', state: { volumes: [], mounted: [] }, then: 'run' },
    { given: 'the pod running', state: { pod: { status: { phase: 'Running' } } }, then: 'none' },
    { given: 'the pod finished', state: { pod: { status: { phase: 'Succeeded' } } }, then: 'none' },
    { given: 'the pod ending, mounts left', state: { pod: ending }, then: 'none' },
    { given: 'the pod ending, nothing mounted', state: { pod: ending, mounted: [] }, then: 'end' },
  ])('given $given, then: $then', ({ state, then }) => {
    expect(decidePod({ ...pending, ...state })).toBe(then);
  });
});

describe('the node part of a resize', () => {
  const volume: PersistentVolume = { spec: { capacity: { storage: '2Gi' } } };
  const claim = (status: PersistentVolumeClaim['status'] = {}, annotations = {}): PersistentVolumeClaim => ({
    metadata: { annotations },
    status: { phase: 'Bound', capacity: { storage: '1Gi' }, ...status },
  });
  const notRequired = { 'volume.kubernetes.io/node-expansion-not-required': 'true' };
  const resizing = (storage: string) => ({ allocatedResourceStatuses: { storage } });

  it.each([
    { given: 'a grown volume', it: claim(), then: true },
    { given: 'a volume of the size that is known', it: claim({ capacity: { storage: '2Gi' } }), then: false },
    { given: 'a node that has nothing to do', it: claim({}, notRequired), then: false },
    { given: 'a refusal', it: claim(resizing('NodeResizeInfeasible')), then: false },
    { given: 'a resizer that has not finished', it: claim(resizing('ControllerResizeInProgress')), then: false },
    { given: 'a resizer that has asked the node', it: claim(resizing('NodeResizePending')), then: true },
    { given: 'a call that is under way', it: claim(resizing('NodeResizeInProgress')), then: true },
  ])('given $given, then needed: $then', ({ it: given, then }) => {
    expect(needsExpansion(volume, given)).toBe(then);
  });

  it('given a status, when done, then size and marks change and all other fields stay', () => {
    const before = {
      phase: 'Bound',
      capacity: { storage: '1Gi' },
      allocatedResources: { storage: '2Gi' },
      allocatedResourceStatuses: { storage: 'NodeResizePending', other: 'x' },
      conditions: [
        { type: 'FileSystemResizePending', status: 'True' },
        { type: 'Foreign', status: 'True' },
      ],
    };
    expect(inProgress(before).allocatedResourceStatuses).toEqual({ storage: 'NodeResizeInProgress', other: 'x' });
    expect(finished(volume, before)).toEqual({
      phase: 'Bound',
      capacity: { storage: '2Gi' },
      allocatedResources: { storage: '2Gi' },
      allocatedResourceStatuses: { other: 'x' },
      conditions: [{ type: 'Foreign', status: 'True' }],
    });
    expect(infeasible('too large', before)).toMatchObject({
      allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' },
      conditions: [{}, {}, { type: 'NodeResizeError', status: 'True', message: 'too large' }],
    });
    const refused = (code: 'OutOfRange' | 'Internal'): CsiError => new CsiError({ code, method: 'm', detail: '' });
    expect([isInfeasible(refused('OutOfRange')), isInfeasible(refused('Internal'))]).toEqual([true, false]);
  });
});
