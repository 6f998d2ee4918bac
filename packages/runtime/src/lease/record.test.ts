// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { Lease } from '../api/objects.ts';
import { toElectionConfig } from './election-config.ts';
import { expiryOf, newLease, observe, observeRead, released, renewed, taken } from './record.ts';

const config = toElectionConfig({ namespace: 'ns', name: 'lock', identity: 'me' });
const labelled = { ...config, labels: { team: 'a' } };
const wallMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const now = '2026-01-02T03:04:05.678000Z';

const spec = {
  holderIdentity: 'other',
  leaseDurationSeconds: 7,
  renewTime: 'r',
  acquireTime: 'a',
  leaseTransitions: 3,
};
const lease = (changes: Lease['spec'] = {}, resourceVersion = '5'): Lease => ({
  metadata: { name: 'lock', labels: { foreign: 'x' }, resourceVersion },
  spec: { ...spec, ...changes },
});

describe('observing', () => {
  it('given no earlier observation, then its time is now', () => {
    expect(observe(undefined, lease(), 9)).toEqual({ lease: lease(), atMs: 9 });
  });

  it.each([
    { holderIdentity: 'third' },
    { renewTime: 'r2' },
    { acquireTime: 'a2' },
    { leaseDurationSeconds: 8 },
    { leaseTransitions: 4 },
  ])('given a record with the change %o, then its time is now', (changed) => {
    expect(observe({ lease: lease(), atMs: 1 }, lease(changed, '6'), 9)).toEqual({
      lease: lease(changed, '6'),
      atMs: 9,
    });
  });

  it('given other labels only, then the newer Lease has the time of the earlier one', () => {
    const edited = { ...lease({}, '6'), metadata: { resourceVersion: '6' } };
    expect(observe({ lease: lease(), atMs: 1 }, edited, 9)).toEqual({ lease: edited, atMs: 1 });
  });

  it('given an older Lease, then it is ignored; given the same or one that cannot be compared, then it is not', () => {
    const before = { lease: lease({}, '10'), atMs: 1 };
    expect(observe(before, lease({ renewTime: 'r2' }, '9'), 9)).toBe(before);
    expect(observe(before, lease({ renewTime: 'r2' }, '10'), 9).atMs).toBe(9);
    expect(observe(before, lease({ renewTime: 'r2' }, 'odd'), 9).atMs).toBe(9);
    const unversioned = { spec: { ...spec, renewTime: 'r2' } };
    expect(observe({ lease: { spec }, atMs: 1 }, unversioned, 9)).toEqual({ lease: unversioned, atMs: 9 });
  });

  it('given Leases without a spec, then they are the same record, which has expired', () => {
    expect(observe({ lease: {}, atMs: 1 }, {}, 9)).toEqual({ lease: {}, atMs: 1 });
    expect(observe({ lease: lease(), atMs: 1 }, {}, 9).atMs).toBe(9);
    expect(observe({ lease: {}, atMs: 1 }, lease(), 9).atMs).toBe(9);
    expect([expiryOf({ lease: {}, atMs: 5 }), expiryOf({ lease: lease(), atMs: 5 })]).toEqual([5, 7005]);
  });

  it('[runtime#132a] given the answer to a read that is older than what was known when it was sent, then it counts, unless something newer was seen since', () => {
    const known = { lease: lease({}, '10'), atMs: 1 };
    const read = { lease: lease({ renewTime: 'r2' }, '9'), known };
    expect(observeRead(known, read, 9)).toEqual({ lease: read.lease, atMs: 9 });
    const newer = { lease: lease({ renewTime: 'r3' }, '11'), atMs: 5 };
    expect(observeRead(newer, read, 9)).toBe(newer);
  });
});

describe('writing', () => {
  const own = { holderIdentity: 'me', leaseDurationSeconds: 15 };

  it('given no Lease, then a new one has no transitions, and labels only if there are some', () => {
    const created = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'lock', namespace: 'ns' },
      spec: { ...own, acquireTime: now, renewTime: now, leaseTransitions: 0 },
    };
    expect(newLease(config, wallMs)).toStrictEqual(created);
    expect(newLease(labelled, wallMs).metadata).toStrictEqual({ ...created.metadata, labels: { team: 'a' } });
  });

  it('given our Lease, then a renewal changes the time of renewal and keeps all other fields', () => {
    const { metadata } = lease();
    expect(renewed(config, { ...lease(), kind: 'Lease' }, wallMs)).toStrictEqual({
      kind: 'Lease',
      metadata,
      spec: { ...spec, ...own, renewTime: now },
    });
    expect(renewed(labelled, lease(), wallMs).metadata).toStrictEqual({
      ...metadata,
      labels: { foreign: 'x', team: 'a' },
    });
    expect(renewed(labelled, {}, wallMs)).toStrictEqual({
      metadata: { labels: { team: 'a' } },
      spec: { ...own, renewTime: now, leaseTransitions: 0 },
    });
  });

  it('given no labels, then an update adds none to a Lease that has none', () => {
    expect(renewed(config, { metadata: { name: 'lock' } }, wallMs).metadata).toStrictEqual({ name: 'lock' });
  });

  it('given a free Lease, then taking it sets both times and counts one transition', () => {
    const both = { acquireTime: now, renewTime: now };
    expect(taken(config, lease(), wallMs).spec).toStrictEqual({ ...spec, ...own, ...both, leaseTransitions: 4 });
    expect(taken(config, {}, wallMs).spec).toStrictEqual({ ...own, ...both, leaseTransitions: 1 });
  });

  it('given our Lease, then a release clears the holder for a second', () => {
    expect(released(lease(), wallMs)).toStrictEqual({
      ...lease(),
      spec: { ...spec, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now },
    });
  });
});
