// SPDX-License-Identifier: Apache-2.0
/** A driver whose volumes need no attaching. */
import type { KubeObject } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { anAttacher, type Fixture, type FixtureOptions, forbidden } from '../../testing/attacher-fixture.ts';
import { anAttachment, aVolume } from '../../testing/builders.ts';

const saved = 'patch volumeattachments/status va1 200';
const trivialWith = (seed: readonly KubeObject[], options: FixtureOptions = {}): Promise<Fixture> =>
  anAttacher({ controller: [], seed, ...options });

it('[attacher#136] given one that is added, or said not to be attached, then it is attached, and that is all', async () => {
  const a = await trivialWith([anAttachment(), aVolume()]);
  expect([a.writes(), a.calls(), a.attachment()?.status]).toEqual([[saved], [], { attached: true }]);
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
