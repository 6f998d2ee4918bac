// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { call, type Reply } from './request.ts';
import { createFakeApiServer, FakeClock, seededRandom } from '../index.ts';

interface Stage {
  readonly apply: (manager: string, body: object, force?: 'force') => Promise<Reply>;
  readonly versionOf: (reply: Reply) => string;
}

function arrange(): Stage {
  const { transport } = createFakeApiServer({ clock: new FakeClock(), random: seededRandom(1) });
  return {
    apply(manager, body, force) {
      const query = `fieldManager=${manager}${force === undefined ? '' : '&force=true'}`;
      const headers = { 'content-type': 'application/apply-patch+yaml' };
      const config = { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', ...body };
      const path = `/apis/storage.k8s.io/v1/csidrivers/d?${query}`;
      return call(transport, path, { method: 'PATCH', headers, body: config });
    },
    versionOf: (reply) => (reply.body as { metadata: { resourceVersion: string } }).metadata.resourceVersion,
  };
}

describe('server-side apply', () => {
  it('given no object, when applied, then it is created with its owner; applied again, then nothing changes', async () => {
    const { apply, versionOf } = arrange();
    const first = await apply('one', { metadata: { labels: { a: '1' } }, spec: { attachRequired: false } });
    expect(first).toMatchObject({
      status: 201,
      body: {
        metadata: {
          name: 'd',
          managedFields: [
            {
              manager: 'one',
              operation: 'Apply',
              fieldsV1: { 'f:metadata': { 'f:labels': { 'f:a': {} } }, 'f:spec': { 'f:attachRequired': {} } },
            },
          ],
        },
      },
    });
    const again = await apply('one', { metadata: { labels: { a: '1' } }, spec: { attachRequired: false } });
    expect([again.status, versionOf(again)]).toEqual([200, versionOf(first)]);
  });

  it('given a field no longer stated, when applied, then it goes unless somebody else owns it', async () => {
    const { apply } = arrange();
    await apply('one', { metadata: { labels: { a: '1', b: '1' }, finalizers: ['x.io/one'] } });
    await apply('two', { metadata: { labels: { b: '1' } } });
    const { body } = await apply('one', { metadata: { labels: { c: '1' } } });
    expect(body).toMatchObject({ metadata: { labels: { b: '1', c: '1' } } });
    expect((body as { metadata: object }).metadata).not.toHaveProperty('finalizers');
    expect((body as { metadata: { labels: object } }).metadata.labels).not.toHaveProperty('a');
  });

  it('given a field of another applier, when changed, then 409 with the manager; forced, then it changes hands', async () => {
    const { apply } = arrange();
    await apply('one', { metadata: { labels: { a: '1' } } });
    expect(await apply('two', { metadata: { labels: { a: '2' } } })).toMatchObject({
      status: 409,
      body: {
        reason: 'Conflict',
        message: 'Apply failed with 1 conflict: conflict with "one": .metadata.labels.a',
        details: { causes: [{ reason: 'FieldManagerConflict', field: '.metadata.labels.a' }] },
      },
    });
    const forced = await apply('two', { metadata: { labels: { a: '2' } } }, 'force');
    expect(forced.body).toMatchObject({ metadata: { labels: { a: '2' }, managedFields: [{ manager: 'two' }] } });
  });

  it('given keyed lists and sets, when two appliers add elements, then all are kept', async () => {
    const { apply } = arrange();
    const owner = (uid: string): object => ({ apiVersion: 'v1', kind: 'Node', name: 'n', uid });
    await apply('one', { metadata: { finalizers: ['x.io/one'], ownerReferences: [owner('1')] } });
    const both = await apply('two', { metadata: { finalizers: ['x.io/two'], ownerReferences: [owner('2')] } });
    expect(both.body).toMatchObject({
      metadata: { finalizers: ['x.io/one', 'x.io/two'], ownerReferences: [{ uid: '1' }, { uid: '2' }] },
    });
    const less = await apply('one', { metadata: { labels: { left: 'yes' } } });
    expect(less.body).toMatchObject({ metadata: { finalizers: ['x.io/two'], ownerReferences: [{ uid: '2' }] } });
  });

  it('given no field manager, when applied, then 422', async () => {
    const { apply } = arrange();
    expect(await apply('', {})).toMatchObject({ status: 422, body: { reason: 'Invalid' } });
  });
});
