// SPDX-License-Identifier: Apache-2.0
import { volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
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

it('given a content that belongs to another snapshot of the name, then neither status is written', async () => {
  const setting = anApiServer();
  const { snapshot } = created(setting);
  const name = memberContent(member, snapshot!).metadata?.name ?? '';
  const content = setting.server.objects.change(volumeSnapshotContents, { name }, (known) => ({
    ...known,
    spec: { ...known.spec, volumeSnapshotRef: { ...known.spec?.volumeSnapshotRef, uid: 'another' } },
  }));
  await expect(save(setting, { ...member, snapshot, content })).rejects.toThrow('is bound to a different snapshot');
  expect(setting.requests()).toEqual([]);
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
