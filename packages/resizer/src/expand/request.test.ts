// SPDX-License-Identifier: Apache-2.0
/** From PersistentVolumes to requests; access modes are held to the shared table in `packages/volume`. */
import { describe, expect, it } from 'vitest';
import { aClaim, aDriver, aVolume, sizeOf, type VolumeOptions } from '../../testing/builders.ts';
import { aResizer } from '../../testing/resizer-fixture.ts';
import { toExpandRequest } from './request.ts';

const size = sizeOf('2Gi');
const request = (options: VolumeOptions, controller: readonly string[] = []) =>
  toExpandRequest(aVolume(options), size, aDriver({ controller }));

it('[resizer#116] given a secret, then all its keys are sent; without a reference none', async () => {
  const reference = { name: 'login', namespace: 'team' };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: reference, data: { a: 'MQ==', b: 'Mg==' } };
  const r = await aResizer({
    seed: [secret, aVolume({ csi: { controllerExpandSecretRef: reference } }), aClaim()],
  });
  expect(r.requests('ControllerExpandVolume')[0]).toMatchObject({ secrets: { a: '1', b: '2' } });
  await r.stop();
  const s = await aResizer();
  expect(s.requests('ControllerExpandVolume')[0]).toMatchObject({ secrets: {} });
  expect(s.server.requests.filter(({ resource }) => resource === 'secrets')).toEqual([]);
  await s.stop();
});

it.each<{ readonly given: string; readonly options: VolumeOptions; readonly then: object }>([
  { given: 'block', options: { spec: { volumeMode: 'Block' } }, then: { block: {} } },
  {
    given: 'no mode',
    options: { spec: { volumeMode: undefined as never } },
    then: { mount: { fs_type: '', mount_flags: [] } },
  },
  {
    given: 'a file system',
    options: { csi: { fsType: 'xfs' }, spec: { mountOptions: ['b', 'a'] } },
    then: { mount: { fs_type: 'xfs', mount_flags: ['b', 'a'] } },
  },
])('[resizer#118] given $given, then the request says so', ({ options, then }) => {
  expect(request(options)).toMatchObject({ value: { request: { volume_capability: then } } });
});

describe('access modes', () => {
  it.each([
    { modes: ['ReadWriteOnce'], plain: 'SINGLE_NODE_WRITER', multi: 'SINGLE_NODE_MULTI_WRITER' },
    { modes: ['ReadWriteOncePod'], plain: 'SINGLE_NODE_WRITER', multi: 'SINGLE_NODE_SINGLE_WRITER' },
    { modes: ['ReadOnlyMany'], plain: 'MULTI_NODE_READER_ONLY', multi: 'MULTI_NODE_READER_ONLY' },
    { modes: ['ReadWriteOnce', 'ReadWriteMany'], plain: 'MULTI_NODE_MULTI_WRITER', multi: 'MULTI_NODE_MULTI_WRITER' },
  ])(
    '[resizer#119, 120] given $modes, then $plain, or $multi by what the driver said at the start',
    ({ modes, plain, multi }) => {
      const mode = (value: string) => ({ value: { request: { volume_capability: { access_mode: { mode: value } } } } });
      expect(request({ spec: { accessModes: modes } })).toMatchObject(mode(plain));
      expect(request({ spec: { accessModes: modes } }, ['SINGLE_NODE_MULTI_WRITER'])).toMatchObject(mode(multi));
    },
  );

  it.each([
    { modes: ['ReadWriteOnce', 'ReadOnlyMany'] },
    { modes: ['ReadWriteOncePod', 'ReadWriteOnce'] },
    { modes: [] },
  ])('[resizer#119] given $modes, then there is no request', ({ modes }) => {
    expect(request({ spec: { accessModes: modes } })).toMatchObject({
      kind: 'error',
      message: expect.stringMatching(/^failed to get capabilities of volume pv1 with /) as string,
    });
  });
});

it('given a PersistentVolume without a specification, then it is not migrated; given a secret without a namespace, then that is empty', () => {
  const message = 'volume pv1 is not migrated to CSI';
  expect(toExpandRequest({ metadata: { name: 'pv1' } }, size, aDriver())).toEqual({ kind: 'error', message });
  expect(request({ csi: { controllerExpandSecretRef: { name: 's' } } })).toMatchObject({
    value: { reference: { name: 's', namespace: '' } },
  });
});

it('[resizer#121] given a volume without a handle, then no call, and an event', async () => {
  expect(request({ csi: { volumeHandle: '' } })).toEqual({ kind: 'error', message: 'empty volume handle' });
});
