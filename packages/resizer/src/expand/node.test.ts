// SPDX-License-Identifier: Apache-2.0
/** The recorded old size, and the hand-over to the node, with a test in the part of kubelet. */
import { describe, expect, it } from 'vitest';
import { aClaim, aVolume, type ClaimOptions } from '../../testing/builders.ts';
import { aResizer, type Fixture, forbidden } from '../../testing/resizer-fixture.ts';
import { annotations } from '../names.ts';

const note = annotations.preResizeCapacity;
const noteOf = (r: Fixture): string | undefined => r.volume()?.metadata?.annotations?.[note];
const recorded = { cap: '2Gi', annotations: { [note]: '1Gi' } };
const finished: ClaimOptions = { cap: '2Gi' };

/** Kubelet has expanded the file system. */
function kubeletFinishes(r: Fixture, size: string): void {
  r.changeClaim((claim) => ({
    ...claim,
    status: { phase: 'Bound', capacity: { storage: size }, allocatedResources: claim.status?.allocatedResources ?? {} },
  }));
}
const kubeletSays = (r: Fixture, storage: string): void =>
  r.changeClaim((claim) => ({ ...claim, status: { ...claim.status, allocatedResourceStatuses: { storage } } }));

describe('the recorded old size', () => {
  it('[resizer#104, 105, 212] given kubelet finishes, then the record goes in one write, and nothing else happens', async () => {
    const r = await aResizer();
    expect([noteOf(r), r.writes().length]).toEqual(['1Gi', 3]);
    kubeletSays(r, 'NodeResizeInProgress');
    await r.settle();
    expect(r.writes().length).toBe(3);
    kubeletFinishes(r, '2Gi');
    await r.settle();
    expect([noteOf(r), r.writes().slice(3), r.bodies().slice(3)]).toEqual([
      undefined,
      ['patch persistentvolumes pv1 200'],
      [{ metadata: { uid: 'uid-of-pv1', resourceVersion: '5', annotations: { [note]: null } } }],
    ]);
    await r.clock.advance(3_600_000);
    expect([r.writes().length, r.calls().length]).toEqual([4, 1]);
    await r.stop();
  });

  it('[resizer#106] given no node, then nothing is recorded', async () => {
    const r = await aResizer({ node: [] });
    expect(noteOf(r)).toBeUndefined();
    await r.stop();
  });

  it('[resizer#107] given an older record, then it stays', async () => {
    const r = await aResizer({
      seed: [aClaim({ spec: '3Gi' }), aVolume({ cap: '2Gi', annotations: { [note]: '512Mi' } })],
    });
    expect([noteOf(r), r.volume()?.spec?.capacity]).toEqual(['512Mi', { storage: '3Gi' }]);
    await r.stop();
  });

  it('[resizer#108] given the gate is off, then it is neither written nor removed', async () => {
    const settings = { features: { annotateFsResize: false } };
    const r = await aResizer({ settings });
    expect(noteOf(r)).toBeUndefined();
    await r.stop();
    const s = await aResizer({ settings, seed: [aClaim(finished), aVolume(recorded)] });
    expect([noteOf(s), s.writes()]).toEqual(['1Gi', []]);
    await s.stop();
  });

  it('[resizer#109] given a capacity above that of the PersistentVolume, then it is removed', async () => {
    const r = await aResizer({ seed: [aClaim({ cap: '3Gi' }), aVolume(recorded)] });
    expect(noteOf(r)).toBeUndefined();
    await r.stop();
  });

  it('[resizer#110] given the PersistentVolume of another claim, then it stays, P13', async () => {
    const r = await aResizer({ seed: [aClaim(finished), aVolume({ ...recorded, claim: aClaim({ uid: 'other' }) })] });
    expect([noteOf(r), r.writes()]).toEqual(['1Gi', []]);
    await r.stop();
  });

  it('[resizer#111] given it cannot be removed, then the next expansion waits for the retry', async () => {
    const r = await aResizer({ seed: [aVolume(recorded)] });
    r.fault('patch persistentvolumes', forbidden);
    r.server.seed(aClaim({ ...finished, spec: '3Gi' }));
    await r.settle();
    expect([r.calls(), r.events]).toEqual([[], []]);
    await r.clock.advance(1_150);
    expect([r.calls().length, noteOf(r)]).toEqual([1, '2Gi']);
    await r.stop();
  });

  it('[resizer#112] given a next expansion, then the old record goes and the new one comes, P13', async () => {
    const r = await aResizer({ seed: [aClaim({ ...finished, spec: '3Gi' }), aVolume(recorded)] });
    const bodies = r.bodies() as { readonly metadata: { readonly annotations?: object } }[];
    expect([bodies[0]?.metadata.annotations, bodies[2]?.metadata.annotations]).toEqual([
      { [note]: null },
      { [note]: '2Gi' },
    ]);
    await r.stop();
  });
});

describe('the node', () => {
  it('[resizer#113] given a raw block volume, then it is handed over like a file system, and the call says block', async () => {
    const r = await aResizer({ seed: [aClaim(), aVolume({ spec: { volumeMode: 'Block' } })] });
    expect(r.claim()?.status?.allocatedResourceStatuses).toEqual({ storage: 'NodeResizePending' });
    expect(r.requests('ControllerExpandVolume')[0]).toMatchObject({ volume_capability: { block: {} } });
    await r.stop();
  });

  it('[resizer#114] given kubelet finishes and more is requested, then the next expansion begins', async () => {
    const r = await aResizer();
    r.ask('3Gi');
    await r.settle();
    expect(r.calls().length).toBe(1);
    kubeletFinishes(r, '2Gi');
    await r.settle();
    expect([r.calls().length, r.claim()?.status?.allocatedResources, noteOf(r)]).toEqual([
      2,
      { storage: '3Gi' },
      '2Gi',
    ]);
    await r.stop();
  });

  it('[resizer#211] given kubelet finds the size infeasible, then the controller confirms it and the node tries again', async () => {
    const r = await aResizer();
    kubeletSays(r, 'NodeResizeInfeasible');
    await r.settle();
    expect([r.calls().length, r.claim()?.status?.allocatedResourceStatuses]).toEqual([
      2,
      { storage: 'NodeResizePending' },
    ]);
    await r.stop();
  });

  it('[resizer#115] given a claim that was made again, then it is expanded to its request if that is more', async () => {
    const again = await aResizer({ seed: [aClaim({ spec: '2Gi', cap: '1Gi' }), aVolume(recorded)] });
    expect([again.calls().length, noteOf(again)]).toEqual([1, '1Gi']);
    await again.stop();
    const enough = await aResizer({ seed: [aClaim({ spec: '1Gi', cap: '1Gi' }), aVolume(recorded)] });
    expect([enough.calls(), noteOf(enough)]).toEqual([[], '1Gi']);
    await enough.stop();
  });
});
