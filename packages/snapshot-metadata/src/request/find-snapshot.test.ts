// SPDX-License-Identifier: Apache-2.0
/** From the names of a request to what the driver gets, over the whole service. */
import { driverName } from '@csi-sidecars/csi/testing';
import type { KubeObject } from '@csi-sidecars/runtime';
import { until } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import {
  aClass,
  aContent,
  aSecret,
  aService,
  aSnapshot,
  handle,
  isDefault,
  secretParameters,
} from '../../testing/objects.ts';
import { serving, type ServingOptions } from '../../testing/serving.ts';

const withObjects = (objects: readonly KubeObject[], options: ServingOptions = {}) =>
  serving({ ...options, objects: [aService(), ...objects] });
const withoutClass = { source: { persistentVolumeClaimName: 'claim' } };
const other = 'other.csi.example.com';
const { spec: contentSpec } = aContent();

it('given a snapshot that is ready, then the driver gets its handle and what the caller asked for', async () => {
  await using service = await serving();
  expect((await service.client.allocated({ starting_offset: '4096', max_results: 7 })).code).toBe('OK');
  expect((await service.client.delta({ starting_offset: '1', max_results: 2 })).code).toBe('OK');
  expect(service.calls.map(({ method, request }) => ({ method, ...request }))).toEqual([
    { method: 'allocated', snapshot_id: handle, starting_offset: '4096', max_results: 7, secrets: {} },
    {
      method: 'delta',
      base_snapshot_id: 'handle-0',
      target_snapshot_id: handle,
      starting_offset: '1',
      max_results: 2,
      secrets: {},
    },
  ]);
});

it('[snapshot-metadata#38] given a base handle that is that of the target, then it is passed on', async () => {
  await using service = await serving();
  expect((await service.client.delta({ base_snapshot_id: handle })).code).toBe('OK');
  expect(service.calls[0]?.request).toMatchObject({ base_snapshot_id: handle, target_snapshot_id: handle });
});

const refusals = [
  {
    id: '55,S1',
    given: 'no VolumeSnapshot',
    objects: [],
    detail: `failed to get VolumeSnapshot 'team/snap': volumesnapshots.snapshot.storage.k8s.io "snap" not found`,
  },
  {
    id: '56,S2',
    given: 'a VolumeSnapshot without status',
    objects: [aSnapshot({ status: undefined as never })],
    detail: 'the VolumeSnapshot is not yet ready, name: snap',
  },
  {
    id: '56,S2',
    given: 'a VolumeSnapshot that is not ready',
    objects: [aSnapshot({ status: { readyToUse: false, boundVolumeSnapshotContentName: 'content' } })],
    detail: 'the VolumeSnapshot is not yet ready, name: snap',
  },
  {
    id: '57,S3',
    given: 'a VolumeSnapshot without content',
    objects: [aSnapshot({ status: { readyToUse: true } })],
    detail: 'boundVolumeSnapshotContentName is not set in VolumeSnapshot status, name: snap',
  },
  {
    id: 'C1',
    given: 'no content',
    objects: [aSnapshot()],
    detail: `failed to get VolumeSnapshotContent 'content': volumesnapshotcontents.snapshot.storage.k8s.io "content" not found`,
  },
  {
    id: '56,C2',
    given: 'a content without status',
    objects: [aSnapshot(), aContent({ status: undefined as never })],
    detail: 'the VolumeSnapshotContent is not yet ready, name: content',
  },
  {
    id: '58,C2',
    given: 'a content that is not ready',
    objects: [aSnapshot(), aContent({ status: { snapshotHandle: handle, readyToUse: false } })],
    detail: 'the VolumeSnapshotContent is not yet ready, name: content',
  },
  {
    id: '59,C3',
    given: 'a content with an empty handle',
    objects: [aSnapshot(), aContent({ status: { readyToUse: true, snapshotHandle: '' } })],
    detail: 'snapshotHandle is not set in VolumeSnapshotContent status, name: content',
  },
  {
    id: '61,C5',
    given: 'a content that refers to another snapshot',
    objects: [aSnapshot(), aContent({ spec: { ...contentSpec, volumeSnapshotRef: { name: 'b', namespace: 'team' } } })],
    detail: "VolumeSnapshotContent 'content' is not bound to VolumeSnapshot 'team/snap'",
  },
  {
    id: '61,C5',
    given: 'a content that refers to an earlier snapshot of that name',
    objects: [
      aSnapshot(),
      aContent({ spec: { ...contentSpec, volumeSnapshotRef: { name: 'snap', namespace: 'team', uid: 'earlier' } } }),
    ],
    detail: "VolumeSnapshotContent 'content' is not bound to VolumeSnapshot 'team/snap'",
  },
  {
    id: '66,K1',
    given: 'a class that is gone',
    objects: [aSnapshot(), aContent()],
    detail: `failed to get VolumeSnapshotClass 'gold': volumesnapshotclasses.snapshot.storage.k8s.io "gold" not found`,
  },
  {
    id: 'K3',
    given: 'two default classes',
    objects: [
      aSnapshot({ spec: withoutClass }),
      aContent(),
      aClass({ metadata: { name: 'a', annotations: isDefault } }),
      aClass({ metadata: { name: 'b', annotations: isDefault } }),
    ],
    detail: `multiple default VolumeSnapshotClasses are set for the CSI driver '${driverName}'`,
  },
  {
    id: '68,K4',
    given: 'a class with one of the two parameters',
    objects: [
      aSnapshot(),
      aContent(),
      aClass({ parameters: { 'csi.storage.k8s.io/snapshotter-secret-name': 'credentials' } }),
    ],
    detail: expect.stringMatching(/^invalid snapshotter secret parameters in VolumeSnapshotClass: ./) as string,
  },
  {
    id: '68,K4',
    given: 'a class with empty parameters',
    objects: [
      aSnapshot(),
      aContent(),
      aClass({ parameters: Object.fromEntries(Object.keys(secretParameters).map((key) => [key, ''])) }),
    ],
    detail: expect.stringMatching(/^invalid snapshotter secret parameters in VolumeSnapshotClass: ./) as string,
  },
  {
    id: '69,K4',
    given: 'the name of the snapshot in the namespace of the secret',
    objects: [
      aSnapshot(),
      aContent(),
      aClass({
        parameters: {
          ...secretParameters,
          'csi.storage.k8s.io/snapshotter-secret-namespace': '${volumesnapshot.name}',
        },
      }),
    ],
    detail: expect.stringContaining('invalid tokens: ["volumesnapshot.name"]') as string,
  },
  {
    id: 'X1',
    given: 'no secret',
    objects: [aSnapshot(), aContent(), aClass({ parameters: secretParameters })],
    detail:
      'failed to get credentials: error getting secret credentials in namespace kube-system: secrets "credentials" not found',
  },
] as const;

it.each(refusals)(
  '[snapshot-metadata#$id] given $given, then Unavailable, and the driver is not called',
  async ({ objects, detail }) => {
    await using service = await withObjects(objects);
    for (const kind of ['allocated', 'delta'] as const) {
      expect(await service.client[kind]()).toMatchObject({ code: 'Unavailable', detail });
    }
    expect(service.calls).toEqual([]);
  },
);

// The ids stand here once more, because those of a table are not found by reading titles:
// see the table above for [snapshot-metadata#55,56,57] [snapshot-metadata#58,59,61] [snapshot-metadata#66,68,69]
// [snapshot-metadata#S1,S2,S3] [snapshot-metadata#C1,C2,C3] [snapshot-metadata#C5,K1,K3] [snapshot-metadata#K4,X1]

it('[snapshot-metadata#60] given objects that are being deleted, then they are served', async () => {
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  const finalizers = ['example.com/held'];
  await using service = await withObjects([
    aSnapshot({ metadata: { name: 'snap', namespace: 'team', uid: 'uid-of-snap', deletionTimestamp, finalizers } }),
    aContent({ metadata: { name: 'content', deletionTimestamp, finalizers } }),
    aClass(),
  ]);
  expect((await service.client.allocated()).code).toBe('OK');
});

it('[snapshot-metadata#62,C4] given a content of another driver, then InvalidArgument, and neither class nor secret is read', async () => {
  await using service = await withObjects([
    aSnapshot(),
    aContent({ spec: { ...contentSpec, driver: other } }),
    aClass(),
  ]);
  expect(await service.client.allocated()).toMatchObject({
    code: 'InvalidArgument',
    detail: `VolumeSnapshot 'snap' does not belong to the CSI driver '${driverName}'`,
  });
  expect(service.cluster.asked().at(-1)).toBe('get volumesnapshotcontents content');
});

it.each([
  { id: '63', given: 'no class at all', classes: [] },
  {
    id: '64',
    given: 'a default class of another driver',
    classes: [aClass({ driver: other, metadata: { name: 'x', annotations: isDefault }, parameters: secretParameters })],
  },
  {
    id: '65',
    given: 'a class with the annotation True',
    classes: [
      aClass({
        metadata: { name: 'x', annotations: { 'snapshot.storage.kubernetes.io/is-default-class': 'True' } },
        parameters: secretParameters,
      }),
    ],
  },
])(
  '[snapshot-metadata#63,64,65] given a snapshot without class and $given, then it is served without secrets ($id)',
  async ({ classes }) => {
    await using service = await withObjects([aSnapshot({ spec: withoutClass }), aContent(), ...classes]);
    expect((await service.client.allocated()).code).toBe('OK');
    expect(service.calls[0]?.request).toMatchObject({ secrets: {} });
  },
);

it('[snapshot-metadata#K2] given a snapshot without class and classes that cannot be listed, then Unavailable', async () => {
  const options: ServingOptions = {
    extension: ({ route }) =>
      route.resource === 'volumesnapshotclasses'
        ? { code: 403, body: { kind: 'Status', code: 403, reason: 'Forbidden', message: 'no right' } }
        : undefined,
  };
  await using service = await withObjects([aSnapshot({ spec: withoutClass }), aContent()], options);
  const detail = 'failed to list VolumeSnapshotClasses: no right';
  expect(await service.client.allocated()).toMatchObject({ code: 'Unavailable', detail });
});

it('[snapshot-metadata#64] given two default classes, one of them of another driver, then that of the driver counts', async () => {
  await using service = await withObjects([
    aSnapshot({ spec: withoutClass }),
    aContent(),
    aClass({ driver: other, metadata: { name: 'a', annotations: isDefault } }),
    aClass({ metadata: { name: 'b', annotations: isDefault }, parameters: secretParameters }),
    aSecret(),
  ]);
  expect((await service.client.allocated()).code).toBe('OK');
  expect(service.calls[0]?.request).toMatchObject({ secrets: { user: 'admin' } });
});

it('[snapshot-metadata#67] given a named class of another driver, then its secret is used, with the names in its templates', async () => {
  const parameters = {
    'csi.storage.k8s.io/snapshotter-secret-name': '${volumesnapshotcontent.name}-${volumesnapshot.name}',
    'csi.storage.k8s.io/snapshotter-secret-namespace': '${volumesnapshot.namespace}',
  };
  const secret = { ...aSecret({ key: 'value' }), metadata: { name: 'content-snap', namespace: 'team' } };
  await using service = await withObjects([aSnapshot(), aContent(), aClass({ driver: other, parameters }), secret]);
  expect((await service.client.allocated()).code).toBe('OK');
  expect(service.calls[0]?.request).toMatchObject({ secrets: { key: 'value' } });
});

it('[snapshot-metadata#70] given a secret without keys, then the driver gets none', async () => {
  await using service = await withObjects([
    aSnapshot(),
    aContent(),
    aClass({ parameters: secretParameters }),
    aSecret({}),
  ]);
  expect((await service.client.allocated()).code).toBe('OK');
  expect(service.calls[0]?.request).toMatchObject({ secrets: {} });
});

it('[snapshot-metadata#71] given a secret that is never answered, then the request ends at its limit, and so does its read', async () => {
  let signal: AbortSignal | undefined;
  await using service = await withObjects([aSnapshot(), aContent(), aClass({ parameters: secretParameters })], {
    settings: { maxDurationMs: 60_000 },
    intercept: (transport) => (request) => {
      if (!request.path.includes('/secrets/')) return transport(request);
      signal = request.signal;
      return new Promise((_, reject) => request.signal.addEventListener('abort', () => reject(request.signal.reason)));
    },
  });
  const asking = service.client.allocated();
  await until(() => signal !== undefined);
  await service.clock.advance(60_000);
  expect(await asking).toMatchObject({
    code: 'Unavailable',
    detail:
      'failed to get credentials: error getting secret credentials in namespace kube-system: context deadline exceeded',
  });
  expect(signal?.aborted).toBe(true);
});
