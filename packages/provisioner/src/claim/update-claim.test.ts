// SPDX-License-Identifier: Apache-2.0
/** The update of a claim when the API server refuses it, reports a conflict, or has another claim of that name. */
import { ApiError, type ApiClient, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { FakeClock, seededRandom } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, driverName } from '../../testing/builders.ts';
import { annotations } from '../names.ts';
import { addProtection, removeOtherProtection, removeSelectedNode, selectNode, updateClaim } from './update-claim.ts';

const refusal = (status: number, reason = ''): ApiError => new ApiError({ status, reason, message: 'no' });
const conflict = refusal(409, 'Conflict');
const retrying = { clock: new FakeClock(), random: seededRandom(1) };

interface Server {
  /** The answers to the updates, in order; then success. */
  readonly answers?: readonly Error[];
  /** The answer to a read. Default: the claim, one version later. */
  readonly live?: PersistentVolumeClaim | Error;
}
async function run(
  { answers = [], live = aClaim() }: Server,
  update = addProtection(driverName, undefined),
  claim = aClaim(),
) {
  const left = [...answers];
  const requests: string[] = [];
  const remembered: PersistentVolumeClaim[] = [];
  const client = {
    update: async (_resource: unknown, next: PersistentVolumeClaim) => {
      requests.push('update');
      const error = left.shift();
      if (error !== undefined) throw error;
      return { ...next, metadata: { ...next.metadata, resourceVersion: '99' } };
    },
    get: async () => {
      requests.push('get');
      if (live instanceof Error) throw live;
      return live;
    },
  } as unknown as ApiClient;
  const doubted = new Set<string | undefined>();
  const claims = {
    remember: (written: PersistentVolumeClaim) => void remembered.push(written),
    doubt: ({ metadata }: PersistentVolumeClaim) => void doubted.add(metadata?.uid),
  };
  const { write, presence } = await updateClaim({ ...retrying, client, claims }, claim, update);
  const versions = remembered.map(({ metadata }) => metadata?.resourceVersion);
  const result = { write, presence, requests, versions };
  return doubted.size === 0 ? result : { ...result, doubted: [...doubted] };
}

describe('an update of a claim', () => {
  it('[provisioner#50] given success, when the annotation is removed, then the cache knows the written claim at once', async () => {
    const claim = aClaim({ node: 'n1' });
    expect(await run({}, removeSelectedNode(driverName, 'keep'), claim)).toEqual({
      write: 'done',
      presence: 'there',
      requests: ['update'],
      versions: ['99'],
    });
  });

  it.each([400, 403, 422])(
    'given %i, when updated, then it is refused: the same request would fail again',
    async (status) => {
      expect(await run({ answers: [refusal(status)] })).toMatchObject({
        write: 'refused',
        presence: 'there',
        versions: [],
      });
    },
  );

  it.each([401, 408, 413, 429, 500, 503])(
    'given %i, when updated, then it failed and may be repeated',
    async (status) => {
      expect(await run({ answers: [refusal(status)] })).toMatchObject({ write: 'failed', requests: ['update'] });
    },
  );

  it.each([
    { given: 'a 404', answers: [refusal(404, 'NotFound')], live: aClaim() },
    { given: 'a conflict, and a 404 when it is read again', answers: [conflict], live: refusal(404, 'NotFound') },
  ])('given $given, then the claim is gone, and a cache that still shows it is in doubt', async ({ answers, live }) => {
    const doubted = [aClaim().metadata?.uid];
    expect(await run({ answers, live })).toMatchObject({ write: 'refused', presence: 'gone', doubted });
  });

  it('given a conflict, when the claim is read again, then it is updated from there, and the cache knows what was read', async () => {
    expect(await run({ answers: [conflict] })).toMatchObject({
      write: 'done',
      requests: ['update', 'get', 'update'],
      versions: ['7', '99'],
    });
  });

  it('given a conflict, when the claim has been created again under its name, then it counts as gone, and the new one is not written', async () => {
    const live = aClaim({ uid: 'uid-new' });
    expect(await run({ answers: [conflict], live })).toEqual({
      write: 'refused',
      presence: 'gone',
      requests: ['update', 'get'],
      versions: [],
      doubted: ['uid-data'],
    });
  });

  it('given a conflict, when the read fails, then the update failed; a claim that is not found is gone', async () => {
    expect(await run({ answers: [conflict], live: refusal(500) })).toMatchObject({
      write: 'failed',
      presence: 'there',
    });
    expect(await run({ answers: [conflict], live: refusal(404, 'NotFound') })).toMatchObject({ presence: 'gone' });
  });

  it('given three conflicts, when updated, then it failed, and the claim is in doubt', async () => {
    expect(await run({ answers: [conflict, conflict, conflict] })).toMatchObject({
      write: 'failed',
      requests: ['update', 'get', 'update', 'get', 'update'],
      doubted: ['uid-data'],
    });
  });

  it('given a conflict, when the annotation is removed, then it failed, and the claim is in doubt: another node may have been selected', async () => {
    const claim = aClaim({ node: 'n1' });
    const node = removeSelectedNode(driverName, 'keep');
    expect(await run({ answers: [conflict] }, node, claim)).toMatchObject({
      write: 'failed',
      requests: ['update'],
      doubted: ['uid-data'],
    });
    expect(node.change(claim).metadata?.annotations).toEqual({ [annotations.storageProvisioner]: driverName });
  });

  it('given the finalizer is there, when protected, then nothing is written', async () => {
    const claim = aClaim({ protection: 'on' });
    expect(await run({}, addProtection(driverName, undefined), claim)).toMatchObject({ write: 'done', requests: [] });
  });
});

interface Sent {
  readonly verb: string;
  readonly object: unknown;
  readonly options: unknown;
}

/** What is sent to a server that gives these answers, then stores what it gets; and what the cache is given. */
function aServer(...answers: readonly unknown[]) {
  const sent: Sent[] = [];
  const remembered: unknown[] = [];
  const left = [...answers];
  const reply =
    (verb: string) =>
    async (_resource: unknown, object: unknown, options: unknown): Promise<unknown> => {
      sent.push({ verb, object, options });
      const answer = left.shift() ?? object;
      if (answer instanceof Error) throw answer;
      return answer;
    };
  const client = { update: reply('update'), get: reply('get') } as unknown as ApiClient;
  const claims = { remember: (written: unknown) => void remembered.push(written), doubt: () => undefined };
  return { deps: { ...retrying, client, claims }, sent, remembered };
}

describe('the requests of an update', () => {
  const deadline = { timeoutMs: 10_000 };

  it('given a conflict, then the claim is read by its name, and each request has a deadline of ten seconds and no signal of the run', async () => {
    const { deps, sent } = aServer(conflict, aClaim());
    await updateClaim(deps, aClaim(), addProtection(driverName, undefined));
    expect(sent.map(({ verb, options }) => [verb, options])).toEqual([
      ['update', deadline],
      ['get', deadline],
      ['update', deadline],
    ]);
    expect(sent[1]?.object).toEqual({ namespace: 'team', name: 'data' });
  });

  it('given a conflict, then what others wrote meanwhile stays, and the finalizer is added to it', async () => {
    const live = aClaim({ annotations: { note: 'x' }, finalizers: ['y'] });
    const { deps, sent } = aServer(conflict, live);
    const change = addProtection(driverName, undefined);
    const updated = await updateClaim(deps, aClaim(), change);
    expect(updated).toEqual({ write: 'done', claim: change.change(live), presence: 'there' });
    expect(sent[2]?.object).toEqual(change.change(live));
  });

  it('given nothing to change, then nothing is sent, and the claim is there', async () => {
    const { deps, sent } = aServer();
    const claim = aClaim({ protection: 'on' });
    expect(await updateClaim(deps, claim, addProtection(driverName, undefined))).toEqual({
      write: 'done',
      claim,
      presence: 'there',
    });
    expect(sent).toEqual([]);
  });

  it.each([
    ['is gone', refusal(404, 'NotFound'), { write: 'refused', presence: 'gone' }],
    ['cannot be read', refusal(500), { write: 'failed', presence: 'there' }],
  ])(
    'given a conflict and a claim that %s, then the claim is still that of the run',
    async (_what, answer, learned) => {
      const claim = aClaim();
      const { deps } = aServer(conflict, answer);
      expect(await updateClaim(deps, claim, addProtection(driverName, undefined))).toEqual({ ...learned, claim });
    },
  );

  it('given the finalizer of another instance, when a conflict comes, then it is not removed from the newer version', async () => {
    const { deps, sent } = aServer(conflict);
    const claim = aClaim({ protection: 'on' });
    expect(await updateClaim(deps, claim, removeOtherProtection(driverName))).toEqual({
      write: 'failed',
      claim,
      presence: 'there',
    });
    expect(sent).toMatchObject([{ verb: 'update', object: { metadata: { finalizers: [] } } }]);
  });

  it.each(['keep', 'remove'] as const)(
    'given a claim without a selected node, when that is removed, then it is written, and to %s the finalizer is obeyed',
    (protection) => {
      const claim = aClaim({ protection: 'on', finalizers: ['x'] });
      const { metadata, spec } = removeSelectedNode(driverName, protection).change(claim);
      const left = protection === 'keep' ? claim.metadata?.finalizers : ['x'];
      expect([metadata, spec]).toEqual([{ ...claim.metadata, finalizers: left }, claim.spec]);
    },
  );

  it('given a claim without annotations, when its node is removed, then it has none', () => {
    const { annotations: _annotations, ...metadata } = aClaim().metadata ?? {};
    const next = removeSelectedNode(driverName, 'keep').change({ ...aClaim(), metadata });
    expect(next.metadata).toEqual({ ...metadata, annotations: {} });
  });
});

describe('selecting a node', () => {
  const claim = aClaim({ annotations: { note: 'x' }, finalizers: ['y'] });
  const selected = {
    ...claim,
    metadata: { ...claim.metadata, annotations: { note: 'x', [annotations.selectedNode]: 'n1' } },
  };

  it('given success, then only the annotation is added, within ten seconds, and the cache knows the answer', async () => {
    const { deps, sent, remembered } = aServer();
    expect(await selectNode(deps, claim, 'n1')).toBe('done');
    expect(sent).toEqual([{ verb: 'update', object: selected, options: { timeoutMs: 10_000 } }]);
    expect(remembered).toEqual([selected]);
  });

  it.each([
    ['a conflict', conflict, 'conflict'],
    ['a claim that is not found', refusal(404, 'NotFound'), 'gone'],
  ])('given %s, then that is returned, and nothing is remembered or read', async (_what, answer, result) => {
    const { deps, sent, remembered } = aServer(answer);
    expect(await selectNode(deps, claim, 'n1')).toEqual(result);
    expect([sent.length, remembered]).toEqual([1, []]);
  });

  it('given another failure, then that is thrown, and nothing is remembered or read', async () => {
    const { deps, sent, remembered } = aServer(refusal(500));
    await expect(selectNode(deps, claim, 'n1')).rejects.toThrow(refusal(500).message);
    expect([sent.length, remembered]).toEqual([1, []]);
  });
});
