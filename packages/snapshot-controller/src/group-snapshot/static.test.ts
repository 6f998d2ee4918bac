// SPDX-License-Identifier: Apache-2.0
/** Groups whose contents an administrator made, and ready groups that lose their content. */
import type { KubeObject } from '@csi-sidecars/runtime';
import { there } from '@csi-sidecars/test-driver/testing';
import {
  snapshotFinalizers as finalizers,
  type VolumeGroupSnapshot,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
} from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import {
  aDefaultGroupClass,
  aGroup,
  aGroupClass,
  aGroupContent,
  aStaticGroup,
  aStaticGroupContent,
} from '../../testing/builders.ts';
import { aController, type Fixture, forbidden } from '../../testing/controller-fixture.ts';

const handles = { volumeGroupSnapshotHandle: 'g1', volumeSnapshotHandles: ['s1'] };
const bound = { boundVolumeGroupSnapshotContentName: 'content', readyToUse: false };
const start = (...objects: readonly KubeObject[]): Promise<Fixture> =>
  aController({ seed: [aGroupClass()], with: objects });
const failure = (it: Fixture): string | undefined => it.group()?.status?.error?.message;

describe('binding', () => {
  it('[snapshot-controller#143, K3] given a content that is ready, then finalizer, binding and status, and the group is ready without members of ours', async () => {
    const it = await start(
      aStaticGroup(),
      aStaticGroupContent({ status: { readyToUse: true, creationTime: '2026-01-01T00:00:00Z' } }),
    );
    expect(it.writes()).toEqual([
      'patch volumegroupsnapshots team/group 200',
      'patch volumegroupsnapshotcontents content 200',
      'patch volumegroupsnapshots/status team/group 200',
    ]);
    expect(it.groupContent('content')).toMatchObject({
      metadata: { finalizers: [finalizers.groupContent] },
      spec: {
        volumeGroupSnapshotClassName: 'group-gold',
        volumeGroupSnapshotRef: { name: 'group', namespace: 'team', uid: 'uid-of-group' },
      },
    });
    expect(it.group()).toMatchObject({
      metadata: { finalizers: [finalizers.groupBound] },
      status: { ...bound, readyToUse: true, creationTime: '2026-01-01T00:00:00Z' },
    });
    await it.stop();
  });

  it('[snapshot-controller#133, G14] given no class, when there is a default, then it is not looked for', async () => {
    const { volumeGroupSnapshotClassName: _, ...spec } = aStaticGroup().spec ?? {};
    const group: VolumeGroupSnapshot = { ...aStaticGroup(), spec };
    const it = await aController({ seed: [aDefaultGroupClass('std')], with: [group, aStaticGroupContent()] });
    expect(it.group()).toMatchObject({ spec, status: bound });
    expect(there(it.group()?.spec)).not.toHaveProperty('volumeGroupSnapshotClassName');
    expect(there(it.groupContent('content')?.spec)).not.toHaveProperty('volumeGroupSnapshotClassName');
    await it.stop();
  });

  it('[snapshot-controller#144] [P9] given no content, then status and event say so, and a late content is bound at once', async () => {
    const it = await start(aStaticGroup());
    expect(it.group()?.status).toMatchObject({
      readyToUse: false,
      error: { message: 'VolumeGroupSnapshotContent is missing' },
    });
    expect(it.events).toEqual([
      'Warning GroupSnapshotContentMissing team/group: VolumeGroupSnapshotContent is missing',
    ]);
    await it.add(aStaticGroupContent());
    expect(it.group()?.status).toEqual(bound);
    await it.stop();
  });

  it.each([
    {
      id: '[snapshot-controller#145]',
      given: 'a reference to another group',
      content: aStaticGroupContent({
        spec: { volumeGroupSnapshotRef: { name: 'group', namespace: 'team', uid: 'another' } },
      }),
      text: 'VolumeGroupSnapshotContent [content] is bound to a different group snapshot',
      reason: 'GroupSnapshotContentMisbound',
    },
    {
      id: '[snapshot-controller#146]',
      given: 'volume handles',
      content: aStaticGroupContent({ spec: { source: { volumeHandles: ['x'] } } }),
      text: 'VolumeGroupSnapshotContent is dynamically provisioned while expecting a pre-provisioned one',
      reason: 'GroupSnapshotContentMismatch',
    },
  ])('$id given a content with $given, then it is not touched', async ({ content, text, reason }) => {
    const it = await start(aStaticGroup(), content);
    expect(it.group()?.status).toMatchObject({ readyToUse: false, error: { message: text } });
    expect(it.events).toEqual([`Warning ${reason} team/group: ${text}`]);
    expect(it.groupContent('content')?.spec).toEqual(content.spec);
    expect(there(it.group()).metadata?.finalizers).toBeUndefined();
    await it.stop();
  });

  it('[snapshot-controller#G7] given a static content under the name of a dynamic one, then it is refused', async () => {
    const name = 'groupsnapcontent-uid-of-group';
    const it = await start(aGroup(), aStaticGroupContent({ name }));
    expect(failure(it)).toBe(
      `VolumeGroupSnapshotContent ${name} is pre-provisioned while expecting a dynamically provisioned one`,
    );
    await it.stop();
  });

  it('given that the content cannot be written, then status and event say so, and the next attempt binds', async () => {
    const it = await aController({
      seed: [aGroupClass()],
      with: [aStaticGroup(), aStaticGroupContent()],
      faults: [
        {
          when: ({ verb, resource }) => verb === 'patch' && resource === 'volumegroupsnapshotcontents',
          fault: forbidden,
          times: 2,
        },
      ],
    });
    expect(failure(it)).toMatch(/^GroupSnapshot failed to bind VolumeGroupSnapshotContent, ./);
    await it.clock.advance(10_000);
    expect(it.group()?.status).toEqual(bound);
    await it.stop();
  });

  it('given a content that another group gets while it is bound, then it is not taken away', async () => {
    const it = await start(aStaticGroupContent());
    it.fault('patch volumegroupsnapshotcontents', { kind: 'delay', ms: 1_000 });
    await it.add(aStaticGroup());
    await it.change(volumeGroupSnapshotContents, { name: 'content' }, (found) => ({
      ...found,
      spec: { ...found.spec, volumeGroupSnapshotRef: { name: 'group', namespace: 'team', uid: 'another' } },
    }));
    await it.clock.advance(2_000);
    expect(it.groupContent('content')?.spec?.volumeGroupSnapshotRef?.uid).toBe('another');
    expect(failure(it)).toBe('VolumeGroupSnapshotContent [content] is bound to a different group snapshot');
    await it.stop();
  });

  it('given a group whose deletion begins while its finalizer is written, then it gets none, and there is no event', async () => {
    const it = await start(aStaticGroupContent());
    it.fault('patch volumegroupsnapshots', { kind: 'delay', ms: 1_000 });
    await it.add(aStaticGroup({ metadata: { finalizers: ['a.io/b'] } }));
    await it.remove(volumeGroupSnapshots, { namespace: 'team', name: 'group' });
    await it.clock.advance(5_000);
    expect([it.group()?.metadata?.finalizers, it.events]).toEqual([['a.io/b'], []]);
    await it.stop();
  });

  it('[snapshot-controller#147] given a content that is not ready, then neither is the group, and nothing is written twice', async () => {
    const it = await start(aStaticGroup(), aStaticGroupContent());
    const writes = it.writes().length;
    await it.clock.advance(1_800_000);
    expect([it.group()?.status, it.writes().length]).toEqual([bound, writes]);
    await it.stop();
  });

  it('[snapshot-controller#G6] given an empty name of the content, then nothing is written', async () => {
    const it = await start(aStaticGroup({ spec: { source: { volumeGroupSnapshotContentName: '' } } }));
    expect([it.writes(), it.events]).toEqual([[], []]);
    await it.stop();
  });

  it.each(['Delete', 'Retain'] as const)(
    '[snapshot-controller#148] given the policy %s, then the group has its finalizer',
    async (deletionPolicy) => {
      const it = await start(aStaticGroup(), aStaticGroupContent({ spec: { deletionPolicy } }));
      expect(it.group()?.metadata?.finalizers).toEqual([finalizers.groupBound]);
      await it.stop();
    },
  );
});

describe('ready groups', () => {
  const ready = { ...bound, readyToUse: true };
  const metadata = { finalizers: [finalizers.groupBound] };
  const readyGroup = aStaticGroup({ metadata, status: ready });
  const reference = { name: 'group', namespace: 'team', uid: 'uid-of-group' };

  it('[snapshot-controller#149, G18, K4] given a valid content, then nothing is written', async () => {
    const it = await start(
      readyGroup,
      aStaticGroupContent({
        metadata: { finalizers: [finalizers.groupContent] },
        spec: { volumeGroupSnapshotRef: reference },
      }),
    );
    expect([it.writes(), it.events]).toEqual([[], []]);
    await it.stop();
  });

  it('[snapshot-controller#149, G13] given no content, then the group is not ready any more', async () => {
    const it = await start(readyGroup);
    expect(it.group()?.status).toMatchObject({
      readyToUse: false,
      error: { message: 'VolumeGroupSnapshotContent is missing' },
    });
    await it.stop();
  });

  it.each([
    { at: 'content', text: 'VolumeGroupSnapshotContent [content] is bound to a different group snapshot' },
    { at: 'x', text: 'VolumeGroupSnapshotContent is not bound to the VolumeGroupSnapshot correctly' },
  ])('[snapshot-controller#149, G17] given a content $at of another group, then $text', async ({ at, text }) => {
    const status = { boundVolumeGroupSnapshotContentName: at, readyToUse: true };
    const foreign = { ...reference, uid: 'another' };
    const it = await start(
      aStaticGroup({ metadata, status }),
      aStaticGroupContent({ name: at, spec: { volumeGroupSnapshotRef: foreign } }),
    );
    expect(it.events[0]).toContain(text);
    expect(it.group()?.status?.readyToUse).toBe(false);
    await it.stop();
  });

  it('[snapshot-controller#149] given a static content that was made again without a UID, then the ready group is reported as not bound correctly, and bound to it at once', async () => {
    const { uid: _, ...free } = reference;
    const it = await start(readyGroup, aStaticGroupContent({ spec: { volumeGroupSnapshotRef: free } }));
    expect(it.events[0]).toContain('VolumeGroupSnapshotContent is not bound to the VolumeGroupSnapshot correctly');
    await it.clock.advance(1_000);
    expect(it.groupContent('content')?.spec?.volumeGroupSnapshotRef).toEqual(reference);
    await it.stop();
  });

  it('[P31] given a class that is gone, then the error appears once, and the group stays ready', async () => {
    const it = await aController({
      seed: [],
      with: [readyGroup, aStaticGroupContent({ spec: { volumeGroupSnapshotRef: reference } })],
    });
    await it.clock.advance(600_000);
    expect(it.events.map((line) => line.split(' ')[1])).toEqual(['GetGroupSnapshotClassFailed']);
    expect(it.group()?.status?.readyToUse).toBe(true);
    await it.stop();
  });
});

describe('contents of groups', () => {
  it('[snapshot-controller#150, K5] given a bound content without its finalizer, then it is added, and a failure is tried again', async () => {
    const content = aGroupContent({ metadata: { finalizers: [] } });
    const it = await aController({
      with: [content],
      faults: [{ when: ({ verb }) => verb === 'patch', fault: forbidden }],
    });
    expect(it.groupContent()?.metadata?.finalizers).toEqual([]);
    await it.clock.advance(2_000);
    expect(it.groupContent()?.metadata?.finalizers).toEqual([finalizers.groupContent]);
    await it.stop();
  });

  it.each([
    { given: 'neither handles nor volumes', source: {} },
    { given: 'an empty list of volumes', source: { volumeHandles: [] } },
    { given: 'both', source: { volumeHandles: ['x'], groupSnapshotHandles: handles } },
  ])('[snapshot-controller#K2] given $given, then an event and no write', async ({ source }) => {
    const it = await start(aGroupContent({ metadata: { finalizers: [] }, spec: { source } }));
    expect(it.events).toEqual([
      'Warning GroupContentValidationError groupsnapcontent-uid-of-group: Exactly one of GroupSnapshotHandles and VolumeHandles should be specified',
    ]);
    expect(it.writes()).toEqual([]);
    await it.stop();
  });
});
