// SPDX-License-Identifier: Apache-2.0
/** From a VolumeAttachment to a published volume, with an API server and a driver. */
import type { KubeObject } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { anAttacher, type Fixture, forbidden } from '../../testing/attacher-fixture.ts';
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

const published = 'ControllerPublishVolume volume-1 id-of-node1 OK';
const marked = 'patch volumeattachments va1 200';
const saved = 'patch volumeattachments/status va1 200';
const protectedVolume = 'patch persistentvolumes pv1 200';
const inline = (spec: object): AttachmentFacts => ({ source: { inlineVolumeSpec: spec } });
const csi = { driver: driverName, volumeHandle: 'volume-1' };

const attacherWith = (...seed: readonly KubeObject[]): Promise<Fixture> => anAttacher({ seed });
const errorOf = (a: Fixture): string | undefined => a.attachment()?.status?.attachError?.message;

describe('the order of writes', () => {
  it('[attacher#1] given a new attachment of a volume with our finalizer, then it is patched, published, and its status is written, in this order', async () => {
    const moments: string[] = [];
    const a = await anAttacher({
      interrupt: (operation, moment) => {
        moments.push(`${moment} ${operation.split('/').slice(-2).join('/')}`);
        return undefined;
      },
    });
    expect(a.writes()).toEqual([marked, saved]);
    expect(a.calls()).toEqual([published]);
    expect(moments).toEqual([
      'before volumeattachments/va1',
      'after volumeattachments/va1',
      'before csi.v1.Controller/ControllerPublishVolume',
      'after csi.v1.Controller/ControllerPublishVolume',
      'before va1/status',
      'after va1/status',
    ]);
    const attachmentMetadata = { 'test-driver/attachment': 'volume-1 on id-of-node1' };
    expect(a.bodies()).toEqual([
      {
        metadata: {
          uid: 'uid-of-va1',
          resourceVersion: '2',
          finalizers: [finalizer],
          '$setElementOrder/finalizers': [finalizer],
          annotations: { [annotations.nodeId]: 'id-of-node1' },
        },
      },
      { metadata: { uid: 'uid-of-va1' }, status: { attached: true, attachmentMetadata, attachError: null } },
    ]);
    expect(a.attachment()).toMatchObject({
      metadata: { finalizers: [finalizer], annotations: { [annotations.nodeId]: 'id-of-node1' } },
      status: { attached: true, attachmentMetadata: { 'test-driver/attachment': 'volume-1 on id-of-node1' } },
    });
  });

  it('[attacher#2] given an attached attachment, when its status changes to not attached, then it is patched, published, and its status is written', async () => {
    const a = await attacherWith(anAttachment({ status: { attached: true } }), aVolume(), aCsiNode());
    expect([a.writes(), a.calls()]).toEqual([[], []]);
    a.change('va1', (attachment) => ({ ...attachment, status: { attached: false } }));
    await a.settle();
    expect([a.writes(), a.calls()]).toEqual([[marked, saved], [published]]);
  });

  it('[attacher#3] given a volume without our finalizer, then the volume is patched first', async () => {
    const a = await attacherWith(anAttachment(), aVolume({ finalizers: ['other/x'] }), aCsiNode());
    expect(a.writes()).toEqual([protectedVolume, marked, saved]);
    expect(a.volume()?.metadata?.finalizers).toEqual(['other/x', finalizer]);
  });

  it.each([{ known: [] }, { known: ['other/x'] }, { known: ['b/x', 'a/y'] }])(
    '[attacher#110] given a volume with the finalizers $known, then one request adds ours after them',
    async ({ known }) => {
      const a = await attacherWith(anAttachment(), aVolume({ finalizers: known }), aCsiNode());
      expect(a.volume()?.metadata?.finalizers).toEqual([...known, finalizer]);
      expect(a.bodies()[0]).toEqual({
        metadata: {
          uid: 'uid-of-pv1',
          finalizers: [finalizer],
          '$setElementOrder/finalizers': [...known, finalizer],
        },
      });
    },
  );

  it('[attacher#4] given an inline volume, then it is published, and no PersistentVolume is requested', async () => {
    const a = await attacherWith(aVolume({ finalizers: [] }), aCsiNode());
    a.server.clearRequests();
    a.server.seed(anAttachment(inline({ csi, accessModes: ['ReadWriteOnce'] })));
    await a.settle();
    expect([a.calls(), a.attachment()?.status?.attached]).toEqual([[published], true]);
    expect(a.server.requests.map(({ verb, resource, subresource }) => [verb, resource, subresource])).toEqual([
      ['patch', 'volumeattachments', undefined],
      ['patch', 'volumeattachments', 'status'],
    ]);
  });

  it('[attacher#46] given finalizers of others on the attachment, then ours is added after them', async () => {
    const a = await attacherWith(anAttachment({ finalizers: ['b/x', 'a/y'] }), aVolume(), aCsiNode());
    expect(a.attachment()?.metadata?.finalizers).toEqual(['b/x', 'a/y', finalizer]);
  });

  it('[attacher#14] given an attachment of another attacher, then nothing is called or written', async () => {
    const a = await attacherWith(anAttachment({ attacher: 'other' }), aVolume(), aCsiNode());
    await a.clock.advance(600_000);
    expect([a.writes(), a.calls()]).toEqual([[], []]);
  });

  it('[attacher#35] given an attacher name that differs in case only, then nothing is called or written', async () => {
    const a = await attacherWith(anAttachment({ attacher: driverName.toUpperCase() }), aVolume(), aCsiNode());
    expect([a.writes(), a.calls()]).toEqual([[], []]);
  });

  it('[attacher#15] given an attached attachment without our finalizer, then nothing is called or written', async () => {
    const a = await attacherWith(anAttachment({ status: { attached: true } }), aVolume(), aCsiNode());
    await a.clock.advance(600_000);
    expect([a.writes(), a.calls()]).toEqual([[], []]);
  });

  it('[attacher#57] given an attachment that waits, when a user sets attached to true, then its volume is not published', async () => {
    const a = await attacherWith(anAttachment(), aVolume());
    a.change('va1', (attachment) => ({ ...attachment, status: { attached: true } }));
    await a.clock.advance(600_000);
    expect(a.calls()).toEqual([]);
  });

  it('[attacher#56] given an attached attachment, when a user sets attached to false, then its volume is published again', async () => {
    const a = await anAttacher();
    a.change('va1', (attachment) => ({ ...attachment, status: { attached: false } }));
    await a.settle();
    expect(a.calls()).toEqual([published, published]);
    expect(a.attachment()?.status?.attached).toBe(true);
  });
});

describe('errors before anything is published', () => {
  const neverMarked = (a: Fixture): void => {
    expect(a.calls()).toEqual([]);
    expect(a.attachment()!.metadata?.finalizers).toBeUndefined();
    expect(a.attachment()!.metadata?.annotations).toBeUndefined();
  };

  it.each([
    {
      id: '[attacher#5]',
      given: 'no source',
      source: {},
      error: 'neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source',
    },
    {
      id: '[attacher#6]',
      given: 'both sources',
      source: { persistentVolumeName: 'pv1', inlineVolumeSpec: { csi } },
      error: 'both InlineCSIVolumeSource and PersistentVolumeName specified in VA source',
    },
    {
      id: '[attacher#7]',
      given: 'an inline source without CSI',
      source: { inlineVolumeSpec: {} },
      error: 'inline volume spec contains nil CSI source',
    },
    {
      id: '[attacher#8]',
      given: 'an unknown volume',
      source: { persistentVolumeName: 'nothing' },
      error: 'persistentvolume "nothing" not found',
    },
  ])('$id given $given, then the error is written, and nothing else is written', async ({ source, error }) => {
    const a = await attacherWith(anAttachment({ source }), aVolume(), aCsiNode());
    expect([errorOf(a), a.writes()]).toEqual([error, [saved]]);
    neverMarked(a);
    await a.clock.advance(1_200);
    expect(a.writes()).toEqual([saved, saved]);
  });

  it('[attacher#8] given an unknown volume, when it is created, then the retry attaches it and clears the error', async () => {
    const a = await attacherWith(anAttachment(), aCsiNode());
    expect(errorOf(a)).toBe('persistentvolume "pv1" not found');
    a.server.seed(aVolume());
    await a.clock.advance(1_200);
    expect(a.attachment()?.status).toMatchObject({ attached: true });
    expect(errorOf(a)).toBeUndefined();
  });

  it('[attacher#9] given an error whose status write is refused twice, then the third attempt writes it, and nothing is called', async () => {
    const seed = [anAttachment({ source: { persistentVolumeName: 'nothing' } }), aCsiNode()];
    const refused = { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' } as const;
    const when = ({ subresource }: { readonly subresource: string | undefined }): boolean => subresource === 'status';
    const a = await anAttacher({ seed, faults: [{ when, fault: refused, times: 2 }] });
    await a.clock.advance(1_200);
    expect(errorOf(a)).toBeUndefined();
    await a.clock.advance(2_400);
    expect(errorOf(a)).toBe('persistentvolume "nothing" not found');
    expect([a.calls(), a.writes()]).toEqual([[], [saved]]);
  });

  it('[attacher#10, F2] given a volume that is being deleted, then the error is written with every retry, and nothing else happens', async () => {
    const a = await attacherWith(anAttachment(), aVolume({ deleting: 'yes' }), aCsiNode());
    expect([errorOf(a), a.writes()]).toEqual(['PersistentVolume "pv1" is marked for deletion', [saved]]);
    await a.clock.advance(8_000);
    expect(a.writes()).toEqual([saved, saved, saved, saved]);
    neverMarked(a);
  });

  it('[attacher#11] given our finalizer on the volume is refused once, then the error is written, and the retry attaches the volume and clears the error', async () => {
    const when = ({ resource, verb }: { readonly resource: string; readonly verb: string }): boolean =>
      resource === 'persistentvolumes' && verb === 'patch';
    const a = await anAttacher({
      seed: [anAttachment(), aVolume({ finalizers: [] }), aCsiNode()],
      faults: [{ when, fault: forbidden }],
    });
    expect(errorOf(a)).toMatch(/^could not add PersistentVolume finalizer: /);
    expect(a.calls()).toEqual([]);
    await a.clock.advance(1_200);
    expect(a.writes()).toEqual([saved, protectedVolume, marked, saved]);
    expect([errorOf(a), a.calls()]).toEqual([undefined, [published]]);
  });

  it('[attacher#12] given a volume that is neither CSI nor migrated, then it gets our finalizer, and its attachment gets the error', async () => {
    const { csi: _csi, ...spec } = aVolume().spec ?? {};
    const nfs = { ...aVolume({ finalizers: [] }), spec: { ...spec, nfs: { server: 's', path: '/' } } };
    const a = await attacherWith(anAttachment(), nfs, aCsiNode());
    expect([errorOf(a), a.writes()]).toEqual([
      'pv spec contained non-csi source that was not migrated',
      [protectedVolume, saved],
    ]);
    neverMarked(a);
  });

  it('[attacher#13] given a volume whose CSI source names another driver, then it is published and unpublished all the same', async () => {
    const a = await attacherWith(anAttachment(), aVolume({ csi: { driver: 'other' }, finalizers: [] }), aCsiNode());
    expect([a.writes(), a.calls()]).toEqual([[protectedVolume, marked, saved], [published]]);
    a.delete();
    await a.settle();
    expect([a.attachment(), a.publishedOn()]).toEqual([undefined, []]);
  });

  it('[attacher#25] given contradictory access modes, then the attachment gets neither our finalizer nor a node id, and can be deleted at once', async () => {
    const spec = { accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] };
    const a = await attacherWith(anAttachment(), aVolume({ spec }), aCsiNode());
    expect([errorOf(a), a.writes()]).toEqual([
      'CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume',
      [saved],
    ]);
    neverMarked(a);
    a.delete();
    await a.clock.advance(600_000);
    expect([a.attachment(), a.calls()]).toEqual([undefined, []]);
  });

  it('[attacher#32] given no CSINode and a node id on the attachment, then the error is written, and nothing is called', async () => {
    const earlier = anAttachment({ annotations: { [annotations.nodeId]: 'old' } });
    const a = await attacherWith(earlier, aVolume());
    expect([errorOf(a), a.calls(), a.writes()]).toEqual(['csinode.storage.k8s.io "node1" not found', [], [saved]]);
  });

  it('[attacher#33] given a CSINode without the driver and a node id on the attachment, then the error is written, and nothing is called', async () => {
    const earlier = anAttachment({ annotations: { [annotations.nodeId]: 'old' } });
    const a = await attacherWith(earlier, aVolume(), { ...aCsiNode(), spec: { drivers: [] } } as KubeObject);
    expect([errorOf(a), a.calls()]).toEqual([`CSINode node1 does not contain driver ${driverName}`, []]);
  });
});

describe('the node', () => {
  it('[attacher#34] given an attachment in its backoff, when the CSINode is created, then it is attached at once (upstream: after the backoff)', async () => {
    const a = await attacherWith(anAttachment(), aVolume());
    await a.clock.advance(100_000);
    a.server.clearRequests();
    a.server.seed(aCsiNode());
    await a.settle();
    expect([a.writes(), a.calls()]).toEqual([[marked, saved], [published]]);
  });

  it('given an attachment in its backoff, when the driver is added to the CSINode, then it is attached at once', async () => {
    const a = await attacherWith(anAttachment(), aVolume(), { ...aCsiNode(), spec: { drivers: [] } } as KubeObject);
    await a.clock.advance(100_000);
    const { csiNodes } = await import('@csi-sidecars/runtime');
    a.server.objects.change(csiNodes, { name: 'node1' }, (node) => ({ ...node, spec: aCsiNode().spec }));
    await a.settle();
    expect(a.calls()).toEqual([published]);
  });

  it('[attacher#36] given an outdated node id on the attachment, then it is replaced, and the new one is used', async () => {
    const earlier = anAttachment({ annotations: { [annotations.nodeId]: 'old' }, finalizers: [finalizer] });
    const a = await attacherWith(earlier, aVolume(), aCsiNode());
    expect(a.bodies()[0]).toEqual({
      metadata: { uid: 'uid-of-va1', resourceVersion: '2', annotations: { [annotations.nodeId]: 'id-of-node1' } },
    });
    expect(a.calls()).toEqual([published]);
  });

  it('[attacher#37] given our finalizer or the node id on the attachment, then only what is missing is written', async () => {
    const a = await attacherWith(anAttachment({ finalizers: [finalizer] }), aVolume(), aCsiNode());
    expect(a.bodies()[0]).toEqual({
      metadata: { uid: 'uid-of-va1', resourceVersion: '2', annotations: { [annotations.nodeId]: 'id-of-node1' } },
    });
    const b = await attacherWith(
      anAttachment({ annotations: { [annotations.nodeId]: 'id-of-node1' } }),
      aVolume(),
      aCsiNode(),
    );
    expect(b.bodies()[0]).toEqual({
      metadata: {
        uid: 'uid-of-va1',
        resourceVersion: '2',
        finalizers: [finalizer],
        '$setElementOrder/finalizers': [finalizer],
      },
    });
  });

  it('[attacher#38] given our finalizer and the node id on the attachment, then the volume is published without that patch', async () => {
    const a = await attacherWith(anAttachment({ ...attached, status: { attached: false } }), aVolume(), aCsiNode());
    expect([a.writes(), a.calls()]).toEqual([[saved], [published]]);
  });
});

describe('what the driver answers', () => {
  it('[attacher#18] given a publish context, then it is stored unchanged; without one the status has no metadata', async () => {
    const a = await anAttacher({ model: { publishContext: { foo: 'bar' } } });
    expect(a.attachment()?.status?.attachmentMetadata).toEqual({
      foo: 'bar',
      'test-driver/attachment': 'volume-1 on id-of-node1',
    });
    const b = await anAttacherWithAnswer({ publish_context: {} });
    expect(b.attachment()?.status).toEqual({ attached: true });
  });

  it('[attacher#19] given a later publish context that lacks a key, then the key is removed from the status', async () => {
    const before = { attached: false, attachmentMetadata: { former: 'x', 'test-driver/attachment': 'old' } };
    const a = await attacherWith(anAttachment({ status: before }), aVolume(), aCsiNode());
    expect(a.attachment()?.status).toEqual({
      attached: true,
      attachmentMetadata: { 'test-driver/attachment': 'volume-1 on id-of-node1' },
    });
  });

  async function anAttacherWithAnswer(set: object): Promise<Fixture> {
    const a = await attacherWith(aVolume(), aCsiNode());
    const unset = ['publish_context.test-driver/attachment'];
    a.driver.faults.add({ method: 'ControllerPublishVolume', action: { kind: 'answer', set, unset } });
    a.server.seed(anAttachment());
    await a.settle();
    return a;
  }
});

describe('requests', () => {
  it('given three attachments, when they are attached and detached, then each attach costs three requests, and each detach one', async () => {
    const names = Array.from({ length: 3 }, (_, index) => String(index + 1));
    const a = await attacherWith(
      ...names.flatMap((n) => [
        anAttachment({ name: `va${n}`, source: { persistentVolumeName: `pv${n}` } }),
        aVolume({ name: `pv${n}`, finalizers: [] }),
      ]),
      aCsiNode(),
    );
    await a.settle();
    expect(a.writes().length).toBe(9);
    a.server.clearRequests();
    for (const n of names) a.delete(`va${n}`);
    await a.clock.advance(600_000);
    expect(
      a.server.requests.filter(({ verb }) => verb !== 'watch').map(({ verb, resource }) => `${verb} ${resource}`),
    ).toEqual(names.map(() => 'patch volumeattachments'));
  });
});
