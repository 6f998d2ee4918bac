// SPDX-License-Identifier: Apache-2.0
/** From a VolumeAttachment that is being deleted to an unpublished volume, with an API server and a driver. */
import { type KubeObject, secrets, type Secret } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { anAttacher, type Fixture, forbidden, internalError } from '../../testing/attacher-fixture.ts';
import {
  aCsiNode,
  anAttachment,
  attached,
  type AttachmentFacts,
  aVolume,
  driverName,
  finalizer,
} from '../../testing/builders.ts';
import { annotations } from '../names.ts';

const unpublished = 'ControllerUnpublishVolume volume-1 id-of-node1 OK';
const released = 'patch volumeattachments va1 200';
const saved = 'patch volumeattachments/status va1 200';
const firstRetryMs = 1_150;

const leaving = (facts: AttachmentFacts = {}): KubeObject => anAttachment({ ...attached, deleting: 'yes', ...facts });
const attacherWith = (...seed: readonly KubeObject[]): Promise<Fixture> => anAttacher({ seed });
const errorOf = (a: Fixture): string | undefined => a.attachment()?.status?.detachError?.message;
const failing = (a: Fixture, code: 'Internal' | 'NotFound' = 'Internal'): void => {
  const action = { kind: 'fail', code, message: 'no' } as const;
  a.driver.faults.add({ method: 'ControllerUnpublishVolume', times: 1, action });
};
async function detaching(prepare: (a: Fixture) => void, ...seed: readonly KubeObject[]): Promise<Fixture> {
  const a = await attacherWith(aVolume(), aCsiNode(), ...seed);
  prepare(a);
  a.server.seed(leaving());
  await a.settle();
  return a;
}

describe('a detach', () => {
  it('[attacher#61] given an attached volume, when its attachment is deleted, then it is unpublished, and one patch removes our finalizer and with it the object', async () => {
    const a = await anAttacher();
    a.server.clearRequests();
    a.driver.forgetCalls();
    a.delete();
    await a.settle();
    expect([a.calls(), a.writes(), a.attachment()]).toEqual([[unpublished], [released], undefined]);
    expect(a.server.requests.map(({ verb }) => verb)).toEqual(['patch']);
    await a.clock.advance(600_000);
    expect([a.calls(), a.writes()]).toEqual([[unpublished], [released]]);
  });

  it('[attacher#62] given a deleted attachment of an inline volume, then it is detached, and no PersistentVolume is requested', async () => {
    const spec = { csi: { driver: driverName, volumeHandle: 'volume-1' }, accessModes: ['ReadWriteOnce'] };
    const a = await attacherWith(aCsiNode(), aVolume({ finalizers: [] }));
    a.server.clearRequests();
    a.server.seed(leaving({ source: { inlineVolumeSpec: spec } }));
    await a.settle();
    expect([a.calls(), a.attachment()]).toEqual([[unpublished], undefined]);
    expect(a.server.requests.map(({ verb, resource, code }) => `${verb} ${resource} ${code}`)).toEqual([
      'patch volumeattachments 200',
    ]);
  });

  it('[attacher#63] given our finalizer on a deleted attachment that is not attached, then its volume is unpublished', async () => {
    const a = await attacherWith(leaving({ status: { attached: false } }), aVolume(), aCsiNode());
    expect([a.calls(), a.writes()]).toEqual([[unpublished], [released]]);
  });

  it.each([
    { id: '[attacher#64]', status: { attached: false } },
    { id: '[attacher#65]', status: { attached: true } },
  ])(
    '$id given a deleted attachment without our finalizer, attached $status.attached, then nothing is called or written',
    async ({ status }) => {
      const a = await attacherWith(leaving({ finalizers: ['x/y'], status }), aVolume(), aCsiNode());
      await a.clock.advance(600_000);
      expect([a.calls(), a.writes()]).toEqual([[], []]);
    },
  );

  it('[attacher#80,81] given a PersistentVolume that is being deleted or lacks our finalizer, then it is detached, and our finalizer is not added', async () => {
    const a = await attacherWith(leaving(), aVolume({ deleting: 'yes' }), aCsiNode());
    expect(a.calls()).toEqual([unpublished]);
    const b = await attacherWith(leaving(), aVolume({ finalizers: [] }), aCsiNode());
    expect([b.calls(), b.writes(), b.volume()?.metadata?.finalizers]).toEqual([[unpublished], [released], undefined]);
  });

  it('[attacher#82] given finalizers of others, then they keep their order, and the status is cleared', async () => {
    const a = await attacherWith(leaving({ finalizers: ['b/x', finalizer, 'a/y'] }), aVolume(), aCsiNode());
    expect(a.writes()).toEqual([released, saved]);
    expect(a.attachment()?.metadata?.finalizers).toEqual(['b/x', 'a/y']);
  });

  it('[attacher#83,84] given metadata and both errors in the status, then only the attachError stays', async () => {
    const attachError = { message: 'before', time: '2026-01-01T00:00:00Z' };
    const status = {
      attached: true,
      attachmentMetadata: { a: 'b' },
      attachError,
      detachError: { ...attachError, message: 'then' },
    };
    const a = await attacherWith(leaving({ finalizers: [finalizer, 'x/y'], status }), aVolume(), aCsiNode());
    expect(a.attachment()?.status).toEqual({ attached: false, attachError });
  });

  it('[attacher#85] given an in-tree GCE volume, then it is unpublished under the handle with its unspecified parts', async () => {
    const { csi: _csi, ...spec } = aVolume().spec ?? {};
    const labels = { 'topology.kubernetes.io/zone': 'testZone' };
    const volume = { ...aVolume({ labels }), spec: { ...spec, gcePersistentDisk: { pdName: 'testpd' } } };
    const a = await attacherWith(leaving(), volume, aCsiNode());
    expect(a.requests('ControllerUnpublishVolume')).toEqual([
      { volume_id: 'projects/UNSPECIFIED/zones/testZone/disks/testpd', node_id: 'id-of-node1', secrets: {} },
    ]);
  });
});

describe('the secret of a detach', () => {
  const ref = { namespace: 'ns', name: 's' };
  const secret = (data: Secret['data']): Secret => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: ref,
    ...(data === undefined ? {} : { data }),
  });
  const encoded = (text: string): string => Buffer.from(text).toString('base64');
  const secretsSent = (a: Fixture): unknown =>
    a.requests('ControllerUnpublishVolume').map((request) => request['secrets']);

  it('[attacher#66] given a secret with data, without data, or of an inline volume, then it is sent', async () => {
    const volume = aVolume({ csi: { controllerPublishSecretRef: ref } });
    const a = await attacherWith(leaving(), volume, aCsiNode(), secret({ foo: encoded('bar') }));
    const b = await attacherWith(leaving(), volume, aCsiNode(), secret(undefined));
    const spec = { csi: { driver: driverName, volumeHandle: 'volume-1', controllerPublishSecretRef: ref } };
    const c = await attacherWith(
      leaving({ source: { inlineVolumeSpec: spec } }),
      aCsiNode(),
      secret({ foo: encoded('bar') }),
    );
    expect([secretsSent(a), secretsSent(b), secretsSent(c)]).toEqual([[{ foo: 'bar' }], [{}], [{ foo: 'bar' }]]);
  });

  it('[attacher#67] given a secret that is missing, then the error is written, and the volume is unpublished only when the secret exists', async () => {
    const a = await attacherWith(leaving(), aVolume({ csi: { controllerPublishSecretRef: ref } }), aCsiNode());
    await a.clock.advance(100_000);
    expect([errorOf(a), a.calls()]).toEqual(['failed to load secret "ns/s": secrets "s" not found', []]);
    a.server.seed(secret({}));
    await a.clock.advance(300_000);
    expect([a.attachment(), a.calls()]).toEqual([undefined, [unpublished]]);
  });

  it('[attacher#30] given a secret that changed since the attach, then the detach sends the new content', async () => {
    const a = await attacherWith(
      anAttachment(),
      aVolume({ csi: { controllerPublishSecretRef: ref } }),
      aCsiNode(),
      secret({ key: encoded('old') }),
    );
    a.server.objects.change(secrets, ref, () => secret({ key: encoded('new') }));
    a.delete();
    await a.settle();
    expect([a.requests('ControllerPublishVolume').map((request) => request['secrets']), secretsSent(a)]).toEqual([
      [{ key: 'old' }],
      [{ key: 'new' }],
    ]);
  });
});

describe('a detach that fails', () => {
  it('[attacher#68] given an unpublish that fails, then the error is written without a code, and the retry succeeds', async () => {
    const a = await detaching(failing);
    expect(a.attachment()).toMatchObject({
      metadata: { finalizers: [finalizer] },
      status: { detachError: { message: 'rpc error: code = Internal desc = no' } },
    });
    expect(a.attachment()?.status?.detachError).not.toHaveProperty('errorCode');
    await a.clock.advance(firstRetryMs);
    expect([a.attachment(), a.calls().at(-1)]).toEqual([undefined, unpublished]);
  });

  it('[attacher#69] given an unpublish that times out, then the error is written, and the retry succeeds', async () => {
    const a = await detaching((b) =>
      b.driver.faults.add({ method: 'ControllerUnpublishVolume', times: 1, action: { kind: 'hang' } }),
    );
    await a.clock.advance(15_000);
    expect(errorOf(a)).toBe('rpc error: code = DeadlineExceeded desc = context deadline exceeded');
    await a.clock.advance(firstRetryMs);
    expect(a.attachment()).toBeUndefined();
  });

  it('[attacher#70] given a driver that answers NotFound, then the error is written, and our finalizer stays', async () => {
    const a = await detaching((b) => failing(b, 'NotFound'));
    expect(errorOf(a)).toBe('rpc error: code = NotFound desc = no');
    expect(a.attachment()?.metadata?.finalizers).toEqual([finalizer]);
  });

  it('[attacher#71,72] given an unknown PersistentVolume and a status that is refused twice, then the third attempt writes the error, and nothing is called', async () => {
    const status = ({ subresource }: { readonly subresource: string | undefined }): boolean => subresource === 'status';
    const a = await anAttacher({
      seed: [leaving(), aCsiNode()],
      faults: [{ when: status, fault: forbidden, times: 2 }],
    });
    await a.clock.advance(firstRetryMs);
    expect(errorOf(a)).toBeUndefined();
    await a.clock.advance(10_000);
    expect([errorOf(a), a.calls()]).toEqual(['persistentvolume "pv1" not found', []]);
  });

  it.each([
    {
      given: 'no source',
      source: {},
      error: 'neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source',
    },
    {
      given: 'both sources',
      source: { persistentVolumeName: 'pv1', inlineVolumeSpec: {} },
      error: 'both InlineCSIVolumeSource and PersistentVolumeName specified in VA source',
    },
  ])(
    '[attacher#73] given a deleted attachment with $given, then the error is written, and nothing is called',
    async ({ source, error }) => {
      const a = await attacherWith(leaving({ source }), aVolume(), aCsiNode());
      expect([errorOf(a), a.calls()]).toEqual([error, []]);
    },
  );

  it('[attacher#78] given our finalizer cannot be removed, then the error is written, and the volume is unpublished again', async () => {
    const when = ({
      resource,
      verb,
      subresource,
    }: {
      resource: string;
      verb: string;
      subresource: string | undefined;
    }) => resource === 'volumeattachments' && verb === 'patch' && subresource === undefined;
    const a = await anAttacher({ seed: [leaving(), aVolume(), aCsiNode()], faults: [{ when, fault: forbidden }] });
    expect(errorOf(a)).toMatch(/^could not mark as detached: /);
    await a.clock.advance(firstRetryMs);
    expect([a.calls(), a.writes(), a.attachment()]).toEqual([[unpublished, unpublished], [saved, released], undefined]);
  });

  it('[attacher#79] given a status that cannot be cleared, then the error is written, and the attachment counts as detached', async () => {
    const a = await attacherWith(aVolume(), aCsiNode());
    a.fault('patch volumeattachments/status', internalError);
    a.server.seed(leaving({ finalizers: [finalizer, 'x/y'] }));
    await a.clock.advance(600_000);
    expect([a.calls(), a.writes()]).toEqual([[unpublished], [released, saved]]);
    expect(a.attachment()?.status).toMatchObject({ attached: true, detachError: { message: expect.any(String) } });
  });
});

describe('the node of a detach', () => {
  const onAttachment = { [annotations.nodeId]: 'annotatedNodeID' };

  it('[attacher#74] given neither a CSINode nor a node id on the attachment, then the error is written, and the registration of the node ends the wait', async () => {
    const a = await attacherWith(leaving({ annotations: {} }), aVolume());
    await a.clock.advance(100_000);
    expect([errorOf(a), a.calls()]).toEqual(['csinode.storage.k8s.io "node1" not found', []]);
    a.server.seed(aCsiNode());
    await a.settle();
    expect(a.calls()).toEqual([unpublished]);
  });

  it.each([
    { id: '[attacher#75]', given: 'no CSINode', node: [] },
    { id: '[attacher#76]', given: 'a CSINode without the driver', node: [{ ...aCsiNode(), spec: { drivers: [] } }] },
  ])('$id given $given, then the node id on the attachment is used', async ({ node }) => {
    const a = await attacherWith(leaving({ annotations: onAttachment }), aVolume(), ...(node as KubeObject[]));
    expect(a.calls()).toEqual(['ControllerUnpublishVolume volume-1 annotatedNodeID OK']);
  });

  it('[attacher#77] given a CSINode with another node id than the attachment, then the node id of the CSINode is used', async () => {
    const a = await attacherWith(leaving({ annotations: onAttachment }), aVolume(), aCsiNode());
    expect(a.calls()).toEqual([unpublished]);
  });

  it('given a list of CSINodes that is late, then nothing is decided before it arrives (upstream does not wait for it)', async () => {
    const when = ({ resource }: { readonly resource: string }): boolean => resource === 'csinodes';
    const a = await anAttacher({
      seed: [leaving({ annotations: onAttachment }), aVolume(), aCsiNode()],
      faults: [{ when, fault: { kind: 'delay', ms: 5_000 } }],
    });
    await a.clock.advance(4_000);
    expect([a.calls(), a.writes()]).toEqual([[], []]);
    await a.clock.advance(2_000);
    expect(a.calls()).toEqual([unpublished]);
  });
});
