// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { anAllocatedRequest } from '../../testing/client.ts';
import { serving } from '../../testing/serving.ts';

const none = { security_token: '', namespace: '', snapshot_name: '', base_snapshot_id: '', target_snapshot_name: '' };

it('[snapshot-metadata#30,Q1] given a request with nothing in it, then the token is complained about first, and nothing is asked', async () => {
  await using service = await serving();
  for (const kind of ['allocated', 'delta'] as const) {
    expect(await service.client[kind](none)).toMatchObject({
      code: 'InvalidArgument',
      detail: 'securityToken is missing',
    });
  }
  expect(service.cluster.asked()).toEqual([]);
});

async function expectRefused(kind: 'allocated' | 'delta', left: object, detail: string): Promise<void> {
  await using service = await serving();
  expect(await service.client[kind](left)).toMatchObject({ code: 'InvalidArgument', detail });
  expect(service.cluster.asked()).toEqual([]);
}

it.each([
  { left: { namespace: '' }, detail: 'namespace parameter cannot be empty' },
  { left: { snapshot_name: '' }, detail: 'snapshotName cannot be empty' },
] as const)(
  '[snapshot-metadata#Q2,Q3] given a request for allocated blocks without $left, then the refusal names it: $detail',
  async ({ left, detail }) => expectRefused('allocated', left, detail),
);

it.each([
  { left: { namespace: '', base_snapshot_id: '' }, detail: 'namespace parameter cannot be empty' },
  { left: { base_snapshot_id: '', target_snapshot_name: '' }, detail: 'baseSnapshotId cannot be empty' },
  { left: { target_snapshot_name: '' }, detail: 'targetSnapshotName cannot be empty' },
] as const)(
  '[snapshot-metadata#31,Q4,Q5] given a request for a delta without $left, then the first that is missing is named: $detail',
  async ({ left, detail }) => expectRefused('delta', left, detail),
);

it('[snapshot-metadata#32] given a blank as namespace, then rights are asked for there, and no snapshot is found', async () => {
  await using service = await serving({ accounts: { good: { namespaces: [' '] } } });
  const answer = await service.client.allocated({ namespace: ' ' });
  expect(answer.code).toBe('Unavailable');
  expect(answer.detail).toContain("failed to get VolumeSnapshot ' /snap': ");
});

it.each(['../x', 'a/b', '..', 'a%2Fb'])(
  '[snapshot-metadata#33,S1] given the namespace %s, then no snapshot is asked for, by no path',
  async (namespace) => {
    await using service = await serving({ accounts: { good: { namespaces: [namespace] } } });
    const answer = await service.client.allocated({ namespace });
    expect(answer.code).toBe('Unavailable');
    expect(answer.detail).toContain(`failed to get VolumeSnapshot '${namespace}/snap': invalid namespace`);
    expect(service.cluster.asked()).toEqual([
      'get snapshotmetadataservices test.csi.example.com',
      'create tokenreviews',
      'create subjectaccessreviews',
    ]);
  },
);

it('[snapshot-metadata#33] given the snapshot name ../x, then no snapshot is asked for', async () => {
  await using service = await serving();
  const answer = await service.client.allocated({ snapshot_name: '../secrets/x' });
  expect(answer.detail).toContain("failed to get VolumeSnapshot 'team/../secrets/x': invalid resource name");
  expect(service.cluster.asked()).toHaveLength(3);
});

it('[snapshot-metadata#34,Q6] given a negative starting_offset, then OutOfRange, before anything is asked', async () => {
  await using service = await serving();
  expect(await service.client.allocated({ starting_offset: '-1' })).toMatchObject({
    code: 'OutOfRange',
    detail: 'starting_offset must not be negative',
  });
  expect(service.cluster.asked()).toEqual([]);
});

it('[snapshot-metadata#35,Q7] given a negative max_results, then InvalidArgument, before anything is asked', async () => {
  await using service = await serving();
  expect(await service.client.delta({ max_results: -1 })).toMatchObject({
    code: 'InvalidArgument',
    detail: 'max_results must not be negative',
  });
  expect(service.cluster.asked()).toEqual([]);
});

it('[snapshot-metadata#37] given a request above 4 MiB, then ResourceExhausted, and nothing is asked', async () => {
  await using service = await serving();
  const answer = await service.client.allocated({ snapshot_name: 'x'.repeat(4 * 1024 * 1024) });
  expect(answer.code).toBe('ResourceExhausted');
  expect(service.cluster.asked()).toEqual([]);
});

it('[snapshot-metadata#39] given a field that is not known, then it is ignored', async () => {
  await using service = await serving();
  const { callStream, publicMetadataCodec } = await import('@csi-sidecars/csi');
  const method = '/snapshotmetadata.SnapshotMetadata/GetMetadataAllocated';
  const known = publicMetadataCodec(method)!.request.encode(anAllocatedRequest);
  const message = Buffer.concat([known, Buffer.from([0xa2, 0x06, 1, 65])]);
  const { signal } = new AbortController();
  const stream = callStream(service.client.session, { method, message, signal });
  expect((await stream.next()).done).toBe(false);
  expect(await stream.next()).toMatchObject({ done: true, value: { code: 'OK' } });
});
