// SPDX-License-Identifier: Apache-2.0
/** The expansion loop as it runs: claims in, writes, calls and events out. */
import { type KubeObject, persistentVolumeClaims } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aVolume } from '../../testing/builders.ts';
import { aResizer, gib } from '../../testing/resizer-fixture.ts';
import { annotations } from '../names.ts';

const marked = 'patch persistentvolumeclaims/status team/data 200';
const volumeSaved = 'patch persistentvolumes pv1 200';
const expanded = 'ControllerExpandVolume volume-1 OK';
const now = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string;
const set = (type: string, message: string | null = null): object => ({
  type,
  status: 'True',
  message,
  reason: null,
  lastProbeTime: null,
  lastTransitionTime: now,
});
const remove = (...types: readonly string[]): object[] => types.map((type) => ({ type, $patch: 'delete' }));
const uid = 'uid-of-data';
const resizing = 'Normal Resizing team/data: External resizer is resizing volume pv1';

describe('an expansion', () => {
  it('[resizer#20, 104, 139] given a claim that grows and a node that has to expand, then three writes, one call, two events', async () => {
    const r = await aResizer();
    expect(r.writes()).toEqual([marked, volumeSaved, marked]);
    expect(r.bodies()).toEqual([
      {
        metadata: { uid, resourceVersion: '2', annotations: { [annotations.nodeExpansionNotRequired]: null } },
        status: {
          '$setElementOrder/conditions': [{ type: 'Resizing' }],
          conditions: [
            set('Resizing'),
            ...remove('FileSystemResizePending', 'ControllerResizeError', 'NodeResizeError'),
          ],
          allocatedResources: { storage: '2Gi' },
          allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
        },
      },
      {
        metadata: {
          uid: 'uid-of-pv1',
          resourceVersion: '3',
          annotations: { [annotations.preResizeCapacity]: '1Gi' },
        },
        spec: { capacity: { storage: '2Gi' } },
      },
      {
        metadata: { uid, resourceVersion: '4', annotations: { [annotations.nodeExpansionNotRequired]: null } },
        status: {
          '$setElementOrder/conditions': [{ type: 'Resizing' }, { type: 'FileSystemResizePending' }],
          conditions: [
            set(
              'FileSystemResizePending',
              'Waiting for user to (re-)start a pod to finish file system resize of volume on node.',
            ),
          ],
          allocatedResourceStatuses: { storage: 'NodeResizePending' },
        },
      },
    ]);
    expect(r.calls()).toEqual([expanded]);
    expect(r.events).toEqual([
      resizing,
      'Normal FileSystemResizeRequired team/data: Require file system resize of volume on node',
    ]);
    expect(r.claim()?.status?.capacity).toEqual({ storage: '1Gi' });
    await r.clock.advance(3_600_000);
    expect([r.writes().length, r.calls().length]).toEqual([3, 1]);
    await r.stop();
  });

  it('[resizer#29, 52, 57] given a claim that grows and a node with nothing to do, then the claim has its size', async () => {
    const r = await aResizer({ node: [] });
    expect(r.writes()).toEqual([marked, volumeSaved, marked]);
    expect(r.bodies().slice(1)).toEqual([
      { metadata: { uid: 'uid-of-pv1', resourceVersion: '3' }, spec: { capacity: { storage: '2Gi' } } },
      {
        metadata: { uid, resourceVersion: '4', annotations: { [annotations.nodeExpansionNotRequired]: 'true' } },
        status: {
          '$setElementOrder/conditions': [],
          conditions: remove('Resizing', 'FileSystemResizePending', 'ControllerResizeError', 'NodeResizeError'),
          capacity: { storage: '2Gi' },
          allocatedResourceStatuses: { storage: null },
        },
      },
    ]);
    expect(r.events).toEqual([resizing, 'Normal VolumeResizeSuccessful team/data: Resize volume succeeded']);
    expect(r.claim()?.status).toEqual({
      phase: 'Bound',
      capacity: { storage: '2Gi' },
      allocatedResources: { storage: '2Gi' },
    });
    await r.clock.advance(3_600_000);
    expect([r.writes().length, r.calls().length]).toEqual([3, 1]);
    await r.stop();
  });

  it('[resizer#50, 199] given a claim without resize statuses, then the first write adds one and carries the version decided on', async () => {
    const r = await aResizer({ seed: [aClaim({ spec: '1Gi' }), aVolume()] });
    r.ask('2Gi');
    const decidedOn = r.claim()?.metadata?.resourceVersion;
    await r.settle();
    expect(r.bodies()[0]).toMatchObject({
      metadata: { uid, resourceVersion: decidedOn },
      status: { allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' } },
    });
    await r.stop();
  });

  it('[resizer#61, 62, 63] given a second expansion, then the annotation goes with its first write, and comes back', async () => {
    const r = await aResizer({ node: [] });
    r.ask('3Gi');
    await r.settle();
    const notes = r.bodies().map((body) => (body as KubeObject).metadata?.annotations);
    expect(notes.slice(3)).toEqual([
      { [annotations.nodeExpansionNotRequired]: null },
      undefined,
      { [annotations.nodeExpansionNotRequired]: 'true' },
    ]);
    expect(r.claim()?.status?.allocatedResources).toEqual({ storage: '3Gi' });
    expect(r.sizes()).toEqual([`${2n * gib}`, `${3n * gib}`]);
    await r.stop();
  });

  it('[resizer#210] given a request that is lowered after a refusal, then the lower one is sent at once', async () => {
    const r = await aResizer({ node: [], seed: [aVolume()] });
    r.failCalls('Internal');
    r.server.seed(aClaim({ spec: '3Gi' }));
    await r.settle();
    r.ask('2Gi');
    await r.settle();
    expect(r.sizes()).toEqual([`${3n * gib}`, `${2n * gib}`]);
    await r.stop();
  });

  it('[resizer#13] given a claim that is being deleted, then it is expanded like any other', async () => {
    const r = await aResizer({ seed: [aClaim({ deleting: 'yes' }), aVolume()] });
    expect(r.calls()).toEqual([expanded]);
    await r.stop();
  });

  it('[resizer#15] given a claim without a capacity, then it gets one, P28', async () => {
    const r = await aResizer({ node: [], seed: [aClaim({ cap: '' }), aVolume()] });
    expect([r.calls(), r.claim()?.status?.capacity]).toEqual([[expanded], { storage: '2Gi' }]);
    await r.stop();
  });

  it.each([
    { id: '[resizer#17]', spec: '2Gi', cap: '2G', bytes: '2147483648' },
    { id: '[resizer#18]', spec: '100m', cap: '', bytes: '1' },
    { id: '[resizer#19]', spec: '9007199254740993', cap: '1Gi', bytes: '9007199254740993' },
  ])('$id given $spec requested and $cap there, then $bytes bytes are requested', async ({ spec, cap, bytes }) => {
    const r = await aResizer({ node: [], seed: [aClaim({ spec, cap }), aVolume()] });
    expect(r.sizes()).toEqual([bytes]);
    await r.stop();
  });

  it('[resizer#19] given a size above 2^53, then claim and PersistentVolume show it exactly', async () => {
    const size = '9007199254740993';
    const r = await aResizer({ node: [], seed: [aVolume()] });
    r.driver.faults.add({
      method: 'ControllerExpandVolume',
      action: { kind: 'answer', set: { capacity_bytes: size } },
    });
    r.server.seed(aClaim({ spec: '3Gi' }));
    await r.settle();
    expect([r.volume()?.spec?.capacity, r.claim()?.status?.capacity]).toEqual([{ storage: size }, { storage: size }]);
    await r.stop();
  });
});

describe('a claim that is left alone', () => {
  const noClaimRef = aVolume({ spec: { claimRef: undefined as never } });
  const cases: readonly { readonly id: string; readonly given: string; readonly seed: readonly KubeObject[] }[] = [
    { id: '[resizer#2]', given: 'what it requests', seed: [aClaim({ spec: '1Gi' }), aVolume()] },
    {
      id: '[resizer#3]',
      given: 'a request below its capacity',
      seed: [aClaim({ spec: '1Gi', cap: '2Gi' }), aVolume()],
    },
    { id: '[resizer#5]', given: 'no volume name', seed: [aClaim({ volumeName: '' }), aVolume()] },
    { id: '[resizer#6]', given: 'the phase Pending', seed: [aClaim({ phase: 'Pending' }), aVolume()] },
    { id: '[resizer#6]', given: 'the phase Lost', seed: [aClaim({ phase: 'Lost' }), aVolume()] },
    { id: '[resizer#7]', given: 'no claim reference on its PersistentVolume', seed: [aClaim(), noClaimRef] },
    { id: '[resizer#8]', given: 'another UID in it', seed: [aClaim(), aVolume({ claim: aClaim({ uid: 'x' }) })] },
    {
      id: '[resizer#9]',
      given: 'another namespace in it',
      seed: [aClaim(), aVolume({ claim: aClaim({ namespace: 'x' }) })],
    },
    {
      id: '[resizer#11]',
      given: 'a volume of another driver',
      seed: [aClaim(), aVolume({ csi: { driver: 'other' } })],
    },
    {
      id: '[resizer#12]',
      given: 'an in-tree volume',
      seed: [aClaim(), aVolume({ spec: { csi: undefined as never, cinder: { volumeID: 'x' } } })],
    },
    { id: '[resizer#17]', given: '2G requested and 2Gi there', seed: [aClaim({ spec: '2G', cap: '2Gi' }), aVolume()] },
    {
      id: '[resizer#110]',
      given: 'the recorded size of another driver',
      seed: [
        aClaim({ cap: '2Gi' }),
        aVolume({ cap: '2Gi', csi: { driver: 'other' }, annotations: { [annotations.preResizeCapacity]: '1Gi' } }),
      ],
    },
  ];
  it.each(cases)('$id given $given, then no write, no call, no event', async ({ seed }) => {
    const r = await aResizer({ seed });
    await r.clock.advance(3_600_000);
    expect([r.writes(), r.calls(), r.events]).toEqual([[], [], []]);
    await r.stop();
  });

  it('[resizer#16] given no storage request, then no call', async () => {
    const claim = aClaim();
    const r = await aResizer({ seed: [{ ...claim, spec: { ...claim.spec, resources: {} } } as KubeObject, aVolume()] });
    expect([r.writes(), r.calls()]).toEqual([[], []]);
    await r.stop();
  });

  it('[resizer#10] given another name in the claim reference, with its UID and namespace, then it is expanded', async () => {
    const volume = aVolume();
    const claimRef = { ...volume.spec?.claimRef, name: 'other' };
    const r = await aResizer({ seed: [aClaim(), { ...volume, spec: { ...volume.spec, claimRef } } as KubeObject] });
    expect(r.calls()).toEqual([expanded]);
    await r.stop();
  });

  it('[resizer#44] given a claim that only an API server without resize statuses leaves, then the log warns of an old server', async () => {
    const warned = async (claim: KubeObject): Promise<number> => {
      const r = await aResizer({ seed: [claim, aVolume({ cap: '2Gi' })] });
      await r.stop();
      return r.logger.messages().filter((message) => message.includes('older version of kubernetes api-server')).length;
    };
    expect([await warned(aClaim()), await warned(aClaim({ alloc: '2Gi' }))]).toEqual([1, 0]);
  });

  it('[resizer#4] given a PersistentVolume that comes later, then its arrival starts the expansion', async () => {
    const r = await aResizer({ seed: [aClaim()] });
    expect([r.calls(), r.logger.lines.filter(({ message }) => message.includes('retry'))]).toEqual([[], []]);
    r.server.seed(aVolume());
    await r.settle();
    expect(r.calls()).toEqual([expanded]);
    await r.stop();
  });

  it('given a PersistentVolume that is bound to the claim later, then that starts the expansion', async () => {
    const r = await aResizer({ seed: [aClaim(), noClaimRef] });
    expect(r.calls()).toEqual([]);
    r.changeVolume(() => aVolume());
    await r.settle();
    expect(r.calls()).toEqual([expanded]);
    await r.stop();
  });

  it('[resizer#1] given a claim that is gone before its retry, then nothing more happens', async () => {
    const r = await aResizer({ seed: [aVolume()] });
    r.failCalls('Internal');
    r.server.seed(aClaim());
    await r.settle();
    r.server.objects.remove(persistentVolumeClaims, { namespace: 'team', name: 'data' });
    await r.clock.advance(3_600_000);
    expect(r.calls()).toEqual(['ControllerExpandVolume volume-1 Internal']);
    await r.stop();
  });
});
