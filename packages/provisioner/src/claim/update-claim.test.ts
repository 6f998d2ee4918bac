// SPDX-License-Identifier: Apache-2.0
/** The update of a claim when the API server refuses it, reports a conflict, or has another claim of that name. */
import { ApiError, type ApiClient, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, driverName } from '../../testing/builders.ts';
import { annotations } from '../names.ts';
import { addProtection, removeSelectedNode, updateClaim } from './update-claim.ts';

const refusal = (status: number, reason = ''): ApiError => new ApiError({ status, reason, message: 'no' });
const conflict = refusal(409, 'Conflict');

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
  const claims = { remember: (written: PersistentVolumeClaim) => void remembered.push(written) };
  const { write, presence } = await updateClaim({ client, claims }, claim, update);
  return { write, presence, requests, versions: remembered.map(({ metadata }) => metadata?.resourceVersion) };
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

  it('given a conflict, when the claim is read again, then it is updated from there', async () => {
    expect(await run({ answers: [conflict] })).toMatchObject({ write: 'done', requests: ['update', 'get', 'update'] });
  });

  it('given a conflict, when the claim has been created again under its name, then it counts as gone, and the new one is not written', async () => {
    const live = aClaim({ uid: 'uid-new' });
    expect(await run({ answers: [conflict], live })).toEqual({
      write: 'refused',
      presence: 'gone',
      requests: ['update', 'get'],
      versions: [],
    });
  });

  it('given a conflict, when the read fails, then the update failed; a claim that is not found is gone', async () => {
    expect(await run({ answers: [conflict], live: refusal(500) })).toMatchObject({
      write: 'failed',
      presence: 'there',
    });
    expect(await run({ answers: [conflict], live: refusal(404, 'NotFound') })).toMatchObject({ presence: 'gone' });
  });

  it('given three conflicts, when updated, then it failed', async () => {
    expect(await run({ answers: [conflict, conflict, conflict] })).toMatchObject({
      write: 'failed',
      requests: ['update', 'get', 'update', 'get', 'update'],
    });
  });

  it('given a conflict, when the annotation is removed, then it failed: another node may have been selected', async () => {
    const claim = aClaim({ node: 'n1' });
    const node = removeSelectedNode(driverName, 'keep');
    expect(await run({ answers: [conflict] }, node, claim)).toMatchObject({ write: 'failed', requests: ['update'] });
    expect(node.change(claim).metadata?.annotations).toEqual({ [annotations.storageProvisioner]: driverName });
  });

  it('given the finalizer is there, when protected, then nothing is written', async () => {
    const claim = aClaim({ protection: 'on' });
    expect(await run({}, addProtection(driverName, undefined), claim)).toMatchObject({ write: 'done', requests: [] });
  });
});
