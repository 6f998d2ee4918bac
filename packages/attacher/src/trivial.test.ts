// SPDX-License-Identifier: Apache-2.0
/** A driver whose volumes need no attaching. */
import { ApiError, type KubeObject, volumeAttachments } from '@csi-sidecars/runtime';
import { type FaultRule, walkFlow } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { anAttacher, type Fixture, type FixtureOptions, forbidden } from '../testing/attacher-fixture.ts';
import { anAttachment, attached, aVolume } from '../testing/builders.ts';
import { attach, saveAttached } from './trivial.ts';

const saved = 'patch volumeattachments/status va1 200';
const trivialWith = (seed: readonly KubeObject[], options: FixtureOptions = {}): Promise<Fixture> =>
  anAttacher({ controller: [], seed, ...options });

const refused = (times: number): FaultRule => ({
  when: ({ subresource }) => subresource === 'status',
  fault: forbidden,
  times,
});
const failuresIn = (a: Fixture) => a.logger.messages().filter((message) => message.startsWith('Reconcile '));
const addsIn = (a: Fixture) => a.metrics.value('workqueue_adds_total', { name: 'csi-attacher-va' }) ?? 0;

it('[attacher#136, T3] given a new attachment, or one that is changed to not attached, then it is marked attached, and nothing else happens', async () => {
  const a = await trivialWith([anAttachment(), aVolume()]);
  expect([a.writes(), a.calls(), a.attachment()?.status]).toEqual([[saved], [], { attached: true }]);
  expect(a.bodies()).toEqual([
    { metadata: { uid: 'uid-of-va1' }, status: { attached: true, attachmentMetadata: null, attachError: null } },
  ]);
  expect(a.attachment()!.metadata?.finalizers).toBeUndefined();
  a.change('va1', (attachment) => ({ ...attachment, status: { attached: false } }));
  await a.settle();
  expect(a.writes()).toEqual([saved, saved]);
  expect(
    a.server.requests.filter(({ resource }) => resource === 'csinodes' || resource === 'persistentvolumes'),
  ).toEqual([]);
  expect(failuresIn(a)).toEqual([]);
  expect(addsIn(a)).toBe(2);
});

it('[attacher#136] given metadata and an error in the status, then both are removed', async () => {
  const attachError = { message: 'no', time: '2026-01-01T00:00:00Z' };
  const a = await trivialWith([
    anAttachment({ status: { attached: false, attachmentMetadata: { a: 'b' }, attachError } }),
  ]);
  expect(a.attachment()?.status).toEqual({ attached: true });
});

it('[attacher#137] given an attachment of another driver, then nothing is written', async () => {
  const a = await trivialWith([anAttachment({ attacher: 'other' })]);
  await a.clock.advance(600_000);
  expect([a.writes(), addsIn(a)]).toEqual([[], 0]);
});

it('given an attachment that is attached, then it is not added to the queue', async () => {
  const a = await trivialWith([anAttachment(attached)]);
  expect([a.writes(), addsIn(a)]).toEqual([[], 0]);
});

it('[attacher#T1] given an attachment that failed, when another driver gets one of the same name, then that one is left alone', async () => {
  const a = await trivialWith([], { faults: [refused(1)] });
  a.server.seed(anAttachment());
  await a.settle();
  a.server.objects.remove(volumeAttachments, { name: 'va1' });
  a.server.seed(anAttachment({ attacher: 'other', uid: 'another' }));
  await a.clock.advance(600_000);
  expect(a.writes()).toEqual([]);
});

it('given an attachment that fails, when it is deleted before its retry, then nothing is written and no further error is logged', async () => {
  const a = await trivialWith([anAttachment()], { faults: [refused(1)] });
  expect(failuresIn(a)).toHaveLength(1);
  a.server.objects.remove(volumeAttachments, { name: 'va1' });
  await a.clock.advance(600_000);
  expect(a.writes()).toEqual([]);
  expect(a.logger.lines.filter(({ kind }) => kind === 'error')).toHaveLength(1);
});

it('given an object that failed many times, when it is removed and one of the same name is created, then its first retry comes after the first delay', async () => {
  const a = await trivialWith([anAttachment()], { faults: [refused(8)] });
  await a.clock.advance(100_000);
  a.server.objects.remove(volumeAttachments, { name: 'va1' });
  await a.settle();
  // The first attempt for the new object is the eighth request that is refused.
  a.server.seed(anAttachment({ uid: 'another' }));
  await a.settle();
  expect(a.writes()).toEqual([]);
  await a.clock.advance(1_150);
  expect(a.writes()).toEqual([saved]);
});

it('given a request in flight, when the process stops at once, then the request is aborted', async () => {
  const signals: unknown[] = [];
  const stop = new AbortController();
  const patch = async (_target: object, _patch: object, options: { readonly signal?: AbortSignal }) => {
    signals.push(options.signal === stop.signal);
    throw new ApiError({ status: 404, reason: 'NotFound', message: 'not found' });
  };
  const list = async (_resource: object, _query: object, options: { readonly signal?: AbortSignal }) => {
    signals.push(options.signal === stop.signal);
    return { items: [] };
  };
  const caches = { attachments: { doubt: () => undefined, remember: () => undefined } };
  const run = { client: { patch, list }, caches, key: 'va1', signal: stop.signal } as never;
  await saveAttached(run, anAttachment());
  expect(signals).toEqual([true, true]);
});

it('[attacher#138] given a patch that is refused twice, then it is retried with the backoff', async () => {
  const a = await trivialWith([anAttachment()], { faults: [refused(2)] });
  await a.clock.advance(1_150);
  expect(a.writes()).toEqual([]);
  await a.clock.advance(2_300);
  expect([a.writes(), a.attachment()?.status?.attached]).toEqual([[saved], true]);
});

it('[attacher#139] given an attachment that is deleted, then it is gone, and nothing is written or called', async () => {
  const a = await trivialWith([anAttachment()]);
  a.delete();
  await a.clock.advance(600_000);
  expect([a.attachment(), a.writes(), a.calls()]).toEqual([undefined, [saved], []]);
});

it('[attacher#140] given an attachment that is being deleted and that others hold, then it is marked attached all the same', async () => {
  const a = await trivialWith([anAttachment({ deleting: 'yes', finalizers: ['x/y'] })]);
  expect([a.writes(), a.attachment()?.status]).toEqual([[saved], { attached: true }]);
});

it('given an attachment that is gone when the request arrives, when the server answers 404, then no failure is logged, and nothing is sent again', async () => {
  const a = await trivialWith([]);
  a.faults.push({ when: ({ verb }) => verb === 'patch', fault: { kind: 'delay', ms: 100 } });
  a.server.seed(anAttachment());
  await a.settle();
  a.server.objects.remove(volumeAttachments, { name: 'va1' });
  await a.clock.advance(600_000);
  expect(a.writes()).toEqual(['patch volumeattachments/status va1 404']);
  expect(failuresIn(a)).toEqual([]);
});

it('given an answer of 404 for an attachment that is there, then it is marked attached with the backoff', async () => {
  const fault = { kind: 'status', point: 'before', code: 404, reason: 'NotFound' } as const;
  const a = await trivialWith([anAttachment()], { faults: [{ when: ({ verb }) => verb === 'patch', fault }] });
  expect(a.writes()).toEqual([]);
  await a.clock.advance(1_150);
  expect([a.writes(), a.attachment()?.status]).toEqual([[saved], { attached: true }]);
});

it('given another object of the same name when the request arrives, then the UID in the request protects it', async () => {
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

it('[attacher#T2] given a watch that lags, when a resync wakes the loop, then the status that this process wrote is not written again', async () => {
  const lag: FaultRule = {
    when: ({ verb, resource }) => verb === 'watch' && resource === 'volumeattachments',
    fault: { kind: 'lag', ms: 5_000 },
    times: 9,
  };
  const a = await trivialWith([anAttachment()], { faults: [lag], settings: { resyncMs: 1_000 } });
  await a.clock.advance(20_000);
  expect(a.writes()).toEqual([saved]);
});

it('[attacher#T1, T2, T3] given an attachment, then its run goes through the rows of the page', async () => {
  const refusal = new Error('no');
  const saving = { saveAttached: undefined };
  expect(await walkFlow(attach(undefined), {})).toMatchObject({ steps: [], conclusion: { row: 'T1' } });
  expect(await walkFlow(attach(anAttachment(attached)), {})).toMatchObject({ steps: [], conclusion: { row: 'T2' } });
  expect(await walkFlow(attach(anAttachment()), saving)).toMatchObject({
    steps: ['T3 saveAttached'],
    conclusion: { row: 'T3', outcome: { kind: 'done' } },
  });
  expect(await walkFlow(attach(anAttachment()), { saveAttached: refusal })).toMatchObject({
    conclusion: { row: 'T3', outcome: { cause: { message: 'failed to mark as attached: no', cause: refusal } } },
  });
});
