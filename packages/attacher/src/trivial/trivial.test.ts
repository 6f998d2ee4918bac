// SPDX-License-Identifier: Apache-2.0
/** A driver whose volumes need no attaching. */
import { type KubeObject, volumeAttachments } from '@csi-sidecars/runtime';
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { anAttacher, type Fixture, type FixtureOptions, forbidden } from '../../testing/attacher-fixture.ts';
import { anAttachment, aVolume } from '../../testing/builders.ts';

const saved = 'patch volumeattachments/status va1 200';
const trivialWith = (seed: readonly KubeObject[], options: FixtureOptions = {}): Promise<Fixture> =>
  anAttacher({ controller: [], seed, ...options });

it('[attacher#136] given one that is added, or said not to be attached, then it is attached, and that is all', async () => {
  const a = await trivialWith([anAttachment(), aVolume()]);
  expect([a.writes(), a.calls(), a.attachment()?.status]).toEqual([[saved], [], { attached: true }]);
  expect(a.bodies()).toEqual([
    { metadata: { uid: 'uid-of-va1' }, status: { attached: true, attachmentMetadata: null, attachError: null } },
  ]);
  expect(a.attachment()?.metadata?.finalizers).toBeUndefined();
  a.change('va1', (attachment) => ({ ...attachment, status: { attached: false } }));
  await a.settle();
  expect(a.writes()).toEqual([saved, saved]);
  expect(
    a.server.requests.filter(({ resource }) => resource === 'csinodes' || resource === 'persistentvolumes'),
  ).toEqual([]);
});

it('[attacher#136] given a context and an error of an earlier time, then these go', async () => {
  const attachError = { message: 'no', time: '2026-01-01T00:00:00Z' };
  const a = await trivialWith([
    anAttachment({ status: { attached: false, attachmentMetadata: { a: 'b' }, attachError } }),
  ]);
  expect(a.attachment()?.status).toEqual({ attached: true });
});

it('[attacher#137] given one of another driver, then nothing', async () => {
  const a = await trivialWith([anAttachment({ attacher: 'other' })]);
  await a.clock.advance(600_000);
  expect(a.writes()).toEqual([]);
});

it('[attacher#138] given the patch is refused twice, then it is sent again, with the backoff', async () => {
  const when = ({ subresource }: { readonly subresource: string | undefined }): boolean => subresource === 'status';
  const a = await trivialWith([anAttachment()], { faults: [{ when, fault: forbidden, times: 2 }] });
  await a.clock.advance(1_150);
  expect(a.writes()).toEqual([]);
  await a.clock.advance(2_300);
  expect([a.writes(), a.attachment()?.status?.attached]).toEqual([[saved], true]);
});

it('[attacher#139] given one that is deleted, then it is gone, and nothing happens', async () => {
  const a = await trivialWith([anAttachment()]);
  a.delete();
  await a.clock.advance(600_000);
  expect([a.attachment(), a.writes(), a.calls()]).toEqual([undefined, [saved], []]);
});

it('[attacher#140] given one that is being deleted and held by others, then it is attached all the same', async () => {
  const a = await trivialWith([anAttachment({ deleting: 'yes', finalizers: ['x/y'] })]);
  expect([a.writes(), a.attachment()?.status]).toEqual([[saved], { attached: true }]);
});

it('given the attachment is gone when the request arrives, then that is no failure, and nothing is sent again', async () => {
  const a = await trivialWith([]);
  a.faults.push({ when: ({ verb }) => verb === 'patch', fault: { kind: 'delay', ms: 100 } });
  a.server.seed(anAttachment());
  await a.settle();
  a.server.objects.remove(volumeAttachments, { name: 'va1' });
  await a.clock.advance(600_000);
  expect(a.writes()).toEqual(['patch volumeattachments/status va1 404']);
  expect(a.logger.messages().filter((message) => message.startsWith('Reconcile failed'))).toEqual([]);
});

it('given another object of the same name when the request arrives, then the request does not change it', async () => {
  const a = await trivialWith([]);
  a.faults.push({ when: ({ verb }) => verb === 'patch', fault: { kind: 'delay', ms: 100 } });
  a.server.seed(anAttachment());
  await a.settle();
  a.server.objects.remove(volumeAttachments, { name: 'va1' });
  a.server.seed(anAttachment({ uid: 'another' }));
  await a.clock.advance(100);
  // The second request is the one for the new object.
  expect(a.writes()).toEqual(['patch volumeattachments/status va1 422', saved]);
  expect(a.bodies().map((body) => (body as KubeObject).metadata?.uid)).toEqual(['uid-of-va1', 'another']);
});

it('given a watch that is behind, when a resync wakes the loop, then what this process wrote is not written again', async () => {
  const lag: FaultRule = {
    when: ({ verb, resource }) => verb === 'watch' && resource === 'volumeattachments',
    fault: { kind: 'lag', ms: 5_000 },
    times: 9,
  };
  const a = await trivialWith([anAttachment()], { faults: [lag], settings: { resyncMs: 1_000 } });
  await a.clock.advance(20_000);
  expect(a.writes()).toEqual([saved]);
});
