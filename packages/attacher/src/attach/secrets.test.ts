// SPDX-License-Identifier: Apache-2.0
/** The secret of a publish: it is read immediately before the call, and never written or logged. */
import type { KubeObject, Secret } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { anAttacher, type Fixture } from '../../testing/attacher-fixture.ts';
import { aCsiNode, anAttachment, aVolume, driverName } from '../../testing/builders.ts';

const controllerPublishSecretRef = { namespace: 'default', name: 's' };
const volume = aVolume({ csi: { controllerPublishSecretRef } });
const secret = (data?: Record<string, Buffer>): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: controllerPublishSecretRef,
  ...(data && {
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, value.toString('base64')])),
  }),
});
const attacherWith = (...seed: readonly KubeObject[]): Promise<Fixture> => anAttacher({ seed: [aCsiNode(), ...seed] });
const sent = (a: Fixture): unknown => a.requests('ControllerPublishVolume').map((request) => request['secrets']);

it('[attacher#26] given a secret of a PersistentVolume or of an inline volume, then its values are sent as text, and neither logged nor written', async () => {
  const data = { foo: Buffer.from('bar') };
  const a = await attacherWith(anAttachment(), volume, secret(data));
  const csi = { driver: driverName, volumeHandle: 'volume-1', controllerPublishSecretRef };
  const inlineVolumeSpec = { csi, accessModes: ['ReadWriteOnce'] };
  const b = await attacherWith(anAttachment({ source: { inlineVolumeSpec } }), secret(data));
  expect([sent(a), sent(b)]).toEqual([[{ foo: 'bar' }], [{ foo: 'bar' }]]);
  expect(JSON.stringify([a.logger.lines, a.bodies()])).not.toContain('bar');
});

it('[attacher#27] given a secret without data, then an empty map is sent', async () => {
  const a = await attacherWith(anAttachment(), volume, secret());
  expect(sent(a)).toEqual([{}]);
});

it('[attacher#28] given a secret that is missing, then the error is written, our finalizer is not added, and the driver is not called', async () => {
  const a = await attacherWith(anAttachment(), volume);
  expect(a.attachment()?.status?.attachError?.message).toBe('failed to load secret "default/s": secrets "s" not found');
  expect([a.calls(), a.attachment()?.metadata?.finalizers]).toEqual([[], undefined]);
});

it('[attacher#29] given a volume without a secret reference, then no secret is requested', async () => {
  const a = await attacherWith(anAttachment(), aVolume(), secret({ foo: Buffer.from('bar') }));
  expect(a.server.requests.filter(({ resource }) => resource === 'secrets')).toEqual([]);
  expect(sent(a)).toEqual([{}]);
});

it('[attacher#31] given a value that is not valid UTF-8, then the error names the secret and does not contain the value', async () => {
  const a = await attacherWith(anAttachment(), volume, secret({ foo: Buffer.from([0xff, 0xfe]) }));
  expect(a.attachment()?.status?.attachError?.message).toBe(
    'failed to load secret "default/s": a value is not valid UTF-8',
  );
  expect(a.calls()).toEqual([]);
});
