// SPDX-License-Identifier: Apache-2.0
/** What is read of a source, and how it gets our finalizer while others change it. */
import { ApiError, type KubeObject } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aClaim } from '../../testing/builders.ts';
import { aDyingClaim, aSnapshot } from '../../testing/source-builders.ts';
import { cloningProtection, snapshotSourceProtection } from '../names.ts';
import { createSharedRequests } from './shared-requests.ts';
import type { SourceRead } from './source-answer.ts';
import { uidOf } from '../claim/claim.ts';
import { protectSource, readBacking, readSource } from './source-reads.ts';

type Answer = KubeObject | ApiError;

const conflict = new ApiError({ status: 409, reason: 'Conflict', message: 'changed' });
const forbidden = new ApiError({ status: 403, reason: 'Forbidden', message: 'no right' });
const { signal } = new AbortController();
const key = uidOf(aClaim());

/** An API server that gives these answers, one for each request. Without one a request is answered with what it carried. */
function aRun(answers: readonly Answer[] = []) {
  const requests: unknown[] = [];
  const held: unknown[] = [];
  const left = [...answers];
  const request =
    (verb: string) =>
    async (resource: { readonly plural: string }, object: KubeObject, options: { readonly signal?: AbortSignal }) => {
      const what = verb === 'get' ? object : object.metadata?.finalizers;
      requests.push([verb, resource.plural, what, options.signal === signal]);
      const answer = left.shift() ?? object;
      if (answer instanceof ApiError) throw answer;
      return answer;
    };
  const logger = recordingLogger();
  const shared = createSharedRequests(new FakeClock());
  const run = {
    client: { get: request('get'), update: request('update') },
    logger,
    key,
    signal,
    context: {
      references: {
        acquire: async (...taken: unknown[]) => void held.push(taken),
        requests: () => shared,
      },
    },
  } as never;
  return { run, requests, held, logger };
}

const snapshotRead = (object: KubeObject): SourceRead => ({
  kind: 'snapshot',
  snapshot: { kind: 'found', object },
  content: 'unread',
});
const claimRead = (object: KubeObject): SourceRead => ({
  kind: 'claim',
  source: { kind: 'found', object },
  volume: 'unread',
});
const [snapshot, origin] = [aSnapshot({ finalizers: ['x'] }), aDyingClaim({ finalizers: ['x'] })];
const ref = { namespace: 'team', name: 'daily' };

describe('reads', () => {
  it.each([
    ['snapshot', snapshot, snapshotRead(snapshot), ['volumesnapshots', 'volumesnapshotcontents'], 'content'],
    ['claim', origin, claimRead(origin), ['persistentvolumeclaims', 'persistentvolumes'], 'volume'],
  ] as const)(
    'given a %s, when it and what is behind it are read, then the claim holds it, and both reads end with the run',
    async (...[kind, object, found, [plural, behind], field]) => {
      const { run, requests, held } = aRun([object, {}]);
      const source = await readSource(run, { kind, ...ref });
      const backed = await readBacking(run, source, 'behind');
      expect([source, backed]).toEqual([found, { ...found, [field]: { kind: 'found', object: {} } }]);
      expect([held, requests]).toEqual([
        [[key, { kind, ...ref }]],
        [
          ['get', plural, ref, true],
          ['get', behind, { name: 'behind' }, true],
        ],
      ]);
    },
  );

  it('given another object behind the source within a second, then it is read as well; the same one is not read again', async () => {
    const { run, requests } = aRun();
    const source = await readSource(run, { kind: 'claim', ...ref });
    for (const name of ['before', 'now', 'now']) await readBacking(run, source, name);
    expect(requests.length).toBe(3);
  });

  it('given another source under the name within a second, then it is protected as well; the same one is not written again', async () => {
    const { run, requests } = aRun();
    for (const uid of ['before', 'now', 'now']) await protectSource(run, claimRead({ ...origin, metadata: { uid } }));
    expect(requests.length).toBe(2);
  });

  it('given a source that cannot be read, then the read says why', async () => {
    const { run } = aRun([forbidden]);
    expect(await readSource(run, { kind: 'claim', ...ref })).toMatchObject({
      source: { kind: 'failed', message: 'no right' },
    });
  });
});

const kinds = [
  { kind: 'snapshot', read: snapshotRead, object: snapshot, ours: snapshotSourceProtection, named: 'team/daily' },
  { kind: 'claim', read: claimRead, object: origin, ours: cloningProtection, named: 'team/original' },
] as const;

describe.each(kinds)('the finalizer of a $kind', ({ kind, read, object, ours, named }) => {
  const plural = kind === 'snapshot' ? 'volumesnapshots' : 'persistentvolumeclaims';
  const write = (...finalizers: readonly string[]) => ['update', plural, finalizers, true];
  const get = ['get', plural, { namespace: 'team', name: object.metadata?.name }, true];
  const changed = (finalizers: readonly string[], uid = object.metadata?.uid): KubeObject =>
    ({ ...object, metadata: { ...object.metadata, uid, finalizers } }) as KubeObject;
  const added = [`Added finalizer ${ours} to ${kind} ${named}`];

  it.each<{
    readonly given: string;
    readonly is?: KubeObject;
    readonly answers: readonly Answer[];
    readonly requests: readonly unknown[];
    readonly logs: readonly string[];
  }>([
    { given: 'nothing is in the way', answers: [], requests: [write('x', ours)], logs: added },
    { given: 'it is there', is: changed([ours]), answers: [], requests: [], logs: [] },
    {
      given: 'others changed the source meanwhile',
      answers: [conflict, changed(['y'])],
      requests: [write('x', ours), get, write('y', ours)],
      logs: added,
    },
    {
      given: 'another claim has put it there meanwhile',
      answers: [conflict, changed([ours])],
      requests: [write('x', ours), get],
      logs: [],
    },
  ])(
    'given $given, when the source is protected, then only what is missing is written',
    async ({ is = object, answers, requests, logs }) => {
      const a = aRun(answers);
      await protectSource(a.run, read(is));
      expect([a.requests, a.logger.messages()]).toEqual([requests, logs]);
    },
  );

  it.each<{ readonly given: string; readonly answers: readonly Answer[]; readonly sent: number }>([
    {
      given: 'three conflicts',
      answers: [conflict, changed(['y']), conflict, changed(['z']), conflict],
      sent: 5,
    },
    { given: 'another source under its name', answers: [conflict, changed(['y'], 'other')], sent: 2 },
  ])('given $given, then the conflict is the failure', async ({ answers, sent }) => {
    const { run, requests } = aRun(answers);
    await expect(protectSource(run, read(object))).rejects.toBe(conflict);
    expect(requests.length).toBe(sent);
  });

  it('given no right to update it, then a restore goes on, and a clone does not', async () => {
    const { run, logger } = aRun([forbidden]);
    const result = await protectSource(run, read(object)).catch((error: unknown) => error);
    const text = `Unable to add finalizer to snapshot ${named} due to missing RBAC permissions (needs 'update' on volumesnapshots): no right. Provisioning will continue without snapshot protection. Please update RBAC to include 'update' verb for volumesnapshots.`;
    expect([result, logger.messages()]).toEqual(kind === 'snapshot' ? [undefined, [text]] : [forbidden, []]);
  });
});

it.each([
  { kind: 'snapshot', snapshot: { kind: 'failed', message: 'no' }, content: 'unread' },
  { kind: 'claim', source: { kind: 'failed', message: 'no' }, volume: 'unread' },
] as const)('given a $kind that was not read, when it is to be protected, then that is a defect', async (source) => {
  const { run, requests } = aRun();
  await expect(protectSource(run, source)).rejects.toThrow('a source that was not read was to be protected');
  expect(requests).toEqual([]);
});
