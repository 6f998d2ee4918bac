// SPDX-License-Identifier: Apache-2.0
/** The loop of claims that are being deleted while clones of them are made, against an API server. */
import { type PersistentVolumeClaim, persistentVolumeClaims } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aVolume } from '../../../testing/builders.ts';
import { aClone, aDyingClaim, type UserFacts } from '../../../testing/source-builders.ts';
import { someSources, uid } from '../../../testing/sources-fixture.ts';
import { annotations, cloningProtection } from '../../names.ts';
import type { SourceRef } from '../source.ts';

const original: SourceRef = { kind: 'claim', namespace: 'team', name: 'original' };
const user = 'example.com/user';
const theirs = { annotations: { [annotations.storageProvisioner]: 'other' } };
const held = aDyingClaim({ finalizers: [user, cloningProtection] });
const removal = 'update persistentvolumeclaims team/original 200';

describe('claims that were cloned', () => {
  it('[provisioner#205] given no pending clone, when the source is being deleted, then the finalizer goes and those of others stay', async () => {
    for (const clones of [[], [aClone({ phase: 'Bound' })]]) {
      const s = await someSources({ seed: [held, ...clones] });
      expect([s.claim()?.metadata?.finalizers, s.writes()]).toEqual([[user], [removal]]);
      // A PUT of what the cache keeps would have lost the rest.
      expect(s.claim()?.spec).toEqual(held.spec);
    }
  });

  it('[provisioner#206] given one pending clone among several, then the finalizer stays, and the log names the clone', async () => {
    const clones = [aClone({ name: 'a', phase: 'Bound' }), aClone({ name: 'b' })];
    const s = await someSources({ seed: [held, ...clones] });
    expect([s.claim()?.metadata?.finalizers, s.requestLines()]).toEqual([[user, cloningProtection], []]);
    expect(JSON.stringify(s.logger.lines)).toContain("PVC 'b' is in 'Pending' state, cloning in progress");
    await s.bind('b');
    expect(s.claim()?.metadata?.finalizers).toEqual([user]);
  });

  it.each([
    ['by dataSourceRef', { ref: {} }],
    ['without a phase', { phase: '' }],
    ['of another driver', theirs],
    ['with its outcome open', { deleting: 'yes', protection: 'on', phase: 'Bound' }],
  ] as [string, UserFacts][])('given a clone %s, then the finalizer stays', async (_what, facts) => {
    const s = await someSources({ seed: [held, aClone(facts)] });
    await s.clock.advance(600_000);
    expect([s.claim()?.metadata?.finalizers, s.writes()]).toEqual([[user, cloningProtection], []]);
  });

  it('[provisioner#160] given a pending clone of another namespace, then the finalizer stays until that clone is bound', async () => {
    const s = await someSources({ seed: [held, aClone({ namespace: 'apps', ref: { namespace: 'team' } })] });
    await s.clock.advance(600_000);
    expect(s.writes()).toEqual([]);
    await s.bind('clone', 'apps');
    expect(s.writes()).toEqual([removal]);
  });

  it('[provisioner#207] given a pending clone of a claim of the same name elsewhere, then the finalizer goes', async () => {
    const s = await someSources({ seed: [held, aClone({ namespace: 'apps' })] });
    expect(s.writes()).toEqual([removal]);
  });

  it('[provisioner#208] given a source without our finalizer, then nothing is read or written', async () => {
    const s = await someSources({ seed: [aDyingClaim({ finalizers: [user] })] });
    expect(s.requestLines()).toEqual([]);
  });

  it('[provisioner#209] given a source that is not being deleted, then it is not queued, and its deletion is noticed', async () => {
    const claim = aClaim({ name: 'original', finalizers: [cloningProtection], spec: { volumeName: 'pv' } });
    const source: PersistentVolumeClaim = { ...claim, status: { phase: 'Bound' } };
    const s = await someSources({ seed: [source] });
    await s.clock.advance(1_800_000);
    expect([s.metrics.value('workqueue_adds_total', { name: 'clonesources' }) ?? 0, s.requestLines()]).toEqual([0, []]);
    await s.remove('original');
    expect(s.claim()).toBeUndefined();
  });

  it('given a clone of this process, when its source is deleted meanwhile, then the source goes once the clone is recorded', async () => {
    const s = await someSources({ seed: [held, aClone()] });
    await s.references.acquire(uid('clone'), original);
    s.server.seed(aVolume({ name: 'pvc-uid-clone', spec: { claimRef: { uid: 'uid-clone' } } }));
    await s.settle();
    await s.clock.advance(60_000);
    expect(s.writes()).toEqual([]);
    s.references.release(uid('clone'), 'other');
    await s.settle();
    expect(s.writes()).toEqual([removal]);
  });

  it('given a clone that fails for good, when its source is being deleted, then the source goes', async () => {
    const s = await someSources({ seed: [held, aClone()] });
    await s.references.acquire(uid('clone'), original);
    s.references.release(uid('clone'), 'failed');
    await s.settle();
    expect(s.writes()).toEqual([removal]);
  });

  it('given the clone is deleted while its call is open, then memory keeps the source', async () => {
    const s = await someSources({ seed: [held, aClone()] });
    await s.references.acquire(uid('clone'), original);
    await s.remove('clone');
    await s.clock.advance(600_000);
    expect(s.writes()).toEqual([]);
    s.references.release(uid('clone'), 'other');
    await s.settle();
    expect(s.writes()).toEqual([removal]);
  });

  it('given another source was created under the name, when the old key is processed, then it is not touched', async () => {
    const s = await someSources({ seed: [held, aClone()] });
    s.server.objects.remove(persistentVolumeClaims, { namespace: 'team', name: 'original' });
    s.server.seed(aClaim({ name: 'original', uid: 'another', finalizers: [cloningProtection] }));
    await s.bind('clone');
    expect(s.writes()).toEqual([]);
  });
});
