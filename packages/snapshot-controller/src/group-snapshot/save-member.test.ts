// SPDX-License-Identifier: Apache-2.0
import type { ObjectRef } from '@csi-sidecars/runtime';
import { failureAtStop, FakeClock, seededRandom, silentApi } from '@csi-sidecars/runtime/testing';
import { type VolumeSnapshotContent, volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { anApiServer, type ApiServerSetting, noCache } from '../../testing/api-server.ts';
import { aGroup, aGroupContent, aVolume } from '../../testing/builders.ts';
import { isComplete, type Member, memberContent, memberSnapshot, namesOf } from './members.ts';
import { saveMember } from './save-member.ts';

const info = {
  volumeHandle: 'handle-1',
  snapshotHandle: 'snapshot-1',
  readyToUse: true,
  creationTime: 1,
  restoreSize: 2,
};
const member: Member = {
  group: aGroup(),
  groupContent: aGroupContent({ status: { volumeGroupSnapshotHandle: 'group-1', volumeSnapshotInfoList: [info] } }),
  info,
  volume: aVolume(),
  snapshot: undefined,
  content: undefined,
};

/** Both objects as they were created, without their statuses. */
function created({ server }: ApiServerSetting): Required<Pick<Member, 'snapshot' | 'content'>> & Member {
  const snapshot = server.seed(memberSnapshot(member));
  const content = server.seed(memberContent(member, snapshot));
  return { ...member, snapshot, content };
}

function save({ ports, end }: ApiServerSetting, incomplete: Member): Promise<void> {
  const { signal } = new AbortController();
  return end(saveMember({ ...ports, snapshots: noCache, contents: noCache }, incomplete, signal));
}

it('given nothing, then both objects are created, bound from the beginning, and both statuses are written', async () => {
  const setting = anApiServer();
  await save(setting, member);
  expect(setting.requests()).toEqual([
    'create volumesnapshots 201',
    'create volumesnapshotcontents 201',
    'patch volumesnapshots/status 200',
    'patch volumesnapshotcontents/status 200',
  ]);
});

it('given both objects, when the process ended before their statuses, then only these are written', async () => {
  const setting = anApiServer();
  await save(setting, created(setting));
  expect(setting.requests()).toEqual(['patch volumesnapshots/status 200', 'patch volumesnapshotcontents/status 200']);
});

it('[snapshot-controller#154] given a snapshot of the name without a UID, then nothing is written', async () => {
  const setting = anApiServer();
  const { uid: _, ...metadata } = memberSnapshot(member).metadata ?? {};
  const snapshot = { ...memberSnapshot(member), metadata };
  const name = `team/${metadata.name}`;
  await expect(save(setting, { ...member, snapshot })).rejects.toThrow(`snapshot ${name} has no UID`);
  expect(setting.requests()).toEqual([]);
});

it('[snapshot-controller#154] given a snapshot of the name that another group owns, then nothing is written', async () => {
  const setting = anApiServer();
  const owned = memberSnapshot({ ...member, group: aGroup({ uid: 'another' }) });
  const metadata = { ...owned.metadata, name: memberSnapshot(member).metadata?.name ?? '' };
  const snapshot = setting.server.seed({ ...owned, metadata });
  const name = `team/${metadata.name}`;
  await expect(save(setting, { ...member, snapshot })).rejects.toThrow(`snapshot ${name} does not belong to the group`);
  expect(setting.requests()).toEqual([]);
});

describe('a content without a UID, as an older release made it', () => {
  function withoutUid(setting: ApiServerSetting): Member {
    const snapshot = setting.server.seed(memberSnapshot(member));
    const content = memberContent(member, snapshot);
    const { uid: _, ...volumeSnapshotRef } = content.spec?.volumeSnapshotRef ?? {};
    const older = setting.server.seed({ ...content, spec: { ...content.spec, volumeSnapshotRef } });
    return { ...member, snapshot, content: older };
  }

  it('given the snapshot of the member, then the content is bound to it, and nothing is read', async () => {
    const setting = anApiServer();
    const { snapshot, content, ...older } = withoutUid(setting);
    await save(setting, { ...older, snapshot, content });
    expect(setting.requests()).toEqual([
      'patch volumesnapshotcontents 200',
      'patch volumesnapshots/status 200',
      'patch volumesnapshotcontents/status 200',
    ]);
    const ref = { name: content?.metadata?.name ?? '' };
    expect(setting.server.objects.get(volumeSnapshotContents, ref)?.spec?.volumeSnapshotRef?.uid).toBe(
      snapshot?.metadata?.uid,
    );
  });

  it('given that it cannot be bound, then neither status is written', async () => {
    const setting = anApiServer();
    const older = withoutUid(setting);
    const { client: real } = setting.ports;
    let refused = false;
    const patch: typeof real.patch = async (...request) => {
      if (refused) return await real.patch(...request);
      refused = true;
      throw new Error('refused');
    };
    const client = { ...real, patch };
    await expect(save({ ...setting, ports: { ...setting.ports, client } }, older)).rejects.toThrow('refused');
    expect(setting.requests()).toEqual([]);
  });
});

describe('given an API server that is silent, when the process must stop', () => {
  const status = { boundVolumeSnapshotContentName: 'content' };
  const stored = (known: Partial<Member>): Member => {
    const snapshot = { ...memberSnapshot(member), ...known.snapshot };
    const metadata = { ...snapshot.metadata, uid: 'uid-of-member' };
    return { ...member, snapshot: { ...snapshot, metadata }, content: known.content };
  };
  const bound = memberContent(member, stored({}).snapshot!);
  const withUid = (uid: string): VolumeSnapshotContent => ({
    ...bound,
    spec: { ...bound.spec, volumeSnapshotRef: { ...bound.spec?.volumeSnapshotRef, uid } },
  });

  it.each([
    { what: 'its snapshot is created', incomplete: member },
    { what: 'its content is created', incomplete: stored({}) },
    { what: 'its content is bound', incomplete: stored({ content: withUid('') }) },
    { what: 'its snapshot is read', incomplete: stored({ content: withUid('earlier') }) },
    { what: 'the status of its snapshot is written', incomplete: stored({ content: bound }) },
    {
      what: 'the status of its content is written',
      incomplete: stored({ snapshot: { ...memberSnapshot(member), status }, content: bound }),
    },
  ])('while $what, then the request is cancelled', async ({ incomplete }) => {
    const clock = new FakeClock();
    const { client, requests } = silentApi(clock);
    const deps = { client, clock, random: seededRandom(1), snapshots: noCache, contents: noCache };
    const failure = await failureAtStop((signal) => saveMember(deps, incomplete, signal), clock);
    expect(failure).toMatchObject({ failure: 'aborted' });
    expect(requests).toHaveLength(1);
  });
});

describe('a content with the UID of another snapshot of the name', () => {
  const ofAnother = (known: VolumeSnapshotContent, uid: string): VolumeSnapshotContent => ({
    ...known,
    spec: { ...known.spec, volumeSnapshotRef: { ...known.spec?.volumeSnapshotRef, uid } },
  });
  /** Both objects, and the content as it is stored with that UID. */
  function withEarlier(setting: ApiServerSetting): { readonly incomplete: Member; readonly ref: ObjectRef } {
    const { snapshot, content } = created(setting);
    const ref = { name: content?.metadata?.name ?? '' };
    const changed = setting.server.objects.change(volumeSnapshotContents, ref, (known) => ofAnother(known, 'earlier'));
    return { incomplete: { ...member, snapshot, content: changed }, ref };
  }

  it('[snapshot-controller#157] given that the snapshot of the member has the name, then the other one is gone, and the content is bound to this one', async () => {
    const setting = anApiServer();
    const { incomplete, ref } = withEarlier(setting);
    await save(setting, incomplete);
    expect(setting.requests()).toEqual([
      'get volumesnapshots 200',
      'patch volumesnapshotcontents 200',
      'patch volumesnapshots/status 200',
      'patch volumesnapshotcontents/status 200',
    ]);
    expect(setting.server.objects.get(volumeSnapshotContents, ref)?.spec?.volumeSnapshotRef?.uid).toBe(
      incomplete.snapshot?.metadata?.uid,
    );
  });

  it('given that the snapshot of the member is gone although the cache shows it, then nothing is written', async () => {
    const setting = anApiServer();
    const { incomplete } = withEarlier(setting);
    const { namespace, name = '' } = incomplete.snapshot?.metadata ?? {};
    setting.server.objects.remove(volumeSnapshots, { namespace, name });
    await expect(save(setting, incomplete)).rejects.toThrow('is bound to a different snapshot');
    expect(setting.requests()).toEqual(['get volumesnapshots 404']);
  });

  it('given that a third snapshot got the content meanwhile, then it is not taken away', async () => {
    const setting = anApiServer();
    const { incomplete, ref } = withEarlier(setting);
    setting.server.objects.change(volumeSnapshotContents, ref, (known) => ofAnother(known, 'third'));
    await expect(save(setting, incomplete)).rejects.toThrow('is bound to a different snapshot');
    expect(setting.requests()).toEqual([
      'get volumesnapshots 200',
      'patch volumesnapshotcontents 409',
      'get volumesnapshotcontents 200',
    ]);
  });

  it('given that the snapshot cannot be read, then nothing is written', async () => {
    const setting = anApiServer();
    const { incomplete } = withEarlier(setting);
    const get = (): Promise<never> => Promise.reject(new Error('no answer'));
    const client = { ...setting.ports.client, get };
    await expect(save({ ...setting, ports: { ...setting.ports, client } }, incomplete)).rejects.toThrow('no answer');
    expect(setting.requests()).toEqual([]);
  });
});

it('[snapshot-controller#158] given a size that no content can have, then it stays unset, and the member is complete without it', async () => {
  const setting = anApiServer();
  const odd = { ...member, info: { ...info, restoreSize: -1n } };
  await save(setting, odd);
  const { snapshot: name, content: contentName } = namesOf(member);
  const snapshot = setting.server.objects.get(volumeSnapshots, { namespace: 'team', name });
  const content = setting.server.objects.get(volumeSnapshotContents, { name: contentName });
  expect(content?.status).toEqual({
    snapshotHandle: 'snapshot-1',
    volumeGroupSnapshotHandle: 'group-1',
    readyToUse: true,
    creationTime: 1,
  });
  expect(isComplete({ ...odd, snapshot, content })).toBe(true);
});
