// SPDX-License-Identifier: Apache-2.0
/** Contents that are deleted when their snapshot or group is gone. */
import { definedOnly, type KubeObject, type ObjectMeta, type Resource } from '@csi-sidecars/runtime';
import type { FaultTarget } from '@csi-sidecars/runtime/testing';
import { there } from '@csi-sidecars/test-driver/testing';
import { snapshotAnnotations as annotations } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aContent, aGroup, aGroupContent, aSnapshot } from '../../testing/builders.ts';
import { aController, type Fixture, forbidden } from '../../testing/controller-fixture.ts';
import { aControllerOf } from '../../testing/decided.ts';
import { groupContentKind, singleContentKind } from './kinds.ts';

interface How {
  readonly deleting?: 'yes';
  readonly metadata?: ObjectMeta;
  readonly spec?: object;
}

interface Kind {
  readonly what: string;
  readonly queue: string;
  readonly contents: Resource;
  readonly owners: Resource;
  readonly mark: string;
  readonly owner: (uid?: string) => KubeObject;
  readonly content: (how?: How) => KubeObject;
  readonly event: string;
}

const eventAbout = (name: string, owner: string, commands: readonly [string, string]): string =>
  `Warning ContentDeletePending ${name}: Its ${owner} is gone, and its data in the storage are deleted only if a person says so. ` +
  `To delete them: ${commands[0]}; to keep them: ${commands[1]}`;

const kinds: readonly Kind[] = [
  {
    what: 'a content',
    queue: singleContentKind.queueName,
    contents: singleContentKind.contents,
    owners: singleContentKind.snapshots,
    mark: annotations.beingDeleted,
    owner: (uid = 'uid-of-snap') => aSnapshot({ uid }),
    content: aContent,
    event: eventAbout('snapcontent-uid-of-snap', 'VolumeSnapshot', [
      'kubectl annotate volumesnapshotcontent snapcontent-uid-of-snap snapshot.storage.kubernetes.io/volumesnapshot-being-deleted=yes',
      `kubectl patch volumesnapshotcontent snapcontent-uid-of-snap --type=merge -p '{"spec":{"deletionPolicy":"Retain"}}'`,
    ]),
  },
  {
    what: 'a content of a group',
    queue: groupContentKind.queueName,
    contents: groupContentKind.contents,
    owners: groupContentKind.snapshots,
    mark: annotations.groupBeingDeleted,
    owner: (uid = 'uid-of-group') => aGroup({ uid }),
    content: aGroupContent,
    event: eventAbout('groupsnapcontent-uid-of-group', 'VolumeGroupSnapshot', [
      'kubectl annotate volumegroupsnapshotcontent groupsnapcontent-uid-of-group groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-deleted=yes',
      `kubectl patch volumegroupsnapshotcontent groupsnapcontent-uid-of-group --type=merge -p '{"spec":{"deletionPolicy":"Retain"}}'`,
    ]),
  },
];

const retained = { spec: { deletionPolicy: 'Retain' } } as const;

describe.each(kinds)('$what', ({ queue, contents, owners, mark, owner, content, event }) => {
  const ref = { name: there(content().metadata).name ?? '' };
  const ownerRef = { namespace: 'team', name: there(owner().metadata).name ?? '' };
  const patched = `patch ${contents.plural} ${ref.name} 200`;
  const asked = `get ${owners.plural} ${ownerRef.name}`;
  const isMarked = (it: Fixture): boolean => it.get(contents, ref)?.metadata?.annotations?.[mark] === 'yes';
  const withPolicy = (known: KubeObject, deletionPolicy: string): KubeObject => ({
    ...content({ spec: { deletionPolicy } }),
    ...definedOnly({ metadata: known.metadata }),
  });

  it('[snapshot-controller#L3, 185] given the policy Retain and an owner that is gone, when it is deleted, then the mark is all that is written', async () => {
    const it = await aController({ with: [content(retained)] });
    expect(it.writes()).toEqual([]);
    await it.remove(contents, ref);
    await it.clock.advance(900_000);
    expect(it.writes()).toEqual([patched]);
    expect(isMarked(it)).toBe(true);
    expect(it.events).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#L4, 186] given the policy Delete and an owner that is gone, when it is deleted, then an event names both ways out, and nothing is written', async () => {
    const it = await aController({ with: [content()] });
    await it.remove(contents, ref);
    await it.clock.advance(60_000);
    expect(it.events).toEqual([event]);
    expect(it.writes()).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#186] given that event, when its policy becomes Retain, then it is marked', async () => {
    const it = await aController({ with: [content({ deleting: 'yes' })] });
    await it.change(contents, ref, (known) => withPolicy(known, 'Retain'));
    expect(it.writes()).toEqual([patched]);
    expect(isMarked(it)).toBe(true);
    await it.stop();
  });

  it.each([
    { given: 'a mark', metadata: { annotations: { [mark]: 'yes' } } },
    { given: 'no finalizer of csi-snapshotter', metadata: { finalizers: ['a.io/b'] } },
  ])('[snapshot-controller#L1] given $given, then nothing is asked, written or reported', async ({ metadata }) => {
    const given = content({ deleting: 'yes', metadata, ...retained });
    const it = await aControllerOf(queue, { with: [given] });
    expect([...it.reads(), ...it.writes(), ...it.events]).toEqual([]);
    await it.change(contents, ref, (known) => ({ ...known, metadata: { ...known.metadata, labels: { a: 'b' } } }));
    expect(it.decided()).toEqual([`${ref.name} L1`]);
    await it.stop();
  });

  it('[snapshot-controller#L1, 113, 185] given an owner that lives, then it is not marked before that is gone', async () => {
    const it = await aController({ with: [owner(), content(retained)] });
    await it.remove(contents, ref);
    await it.clock.advance(60_000);
    expect(isMarked(it)).toBe(false);
    expect(it.reads()).not.toContain(asked);
    await it.vanish(owners, ownerRef);
    expect(isMarked(it)).toBe(true);
    expect(it.reads()).toContain(asked);
    await it.stop();
  });

  it('given a content that is not being deleted, when its owner goes, then it is not looked at', async () => {
    const it = await aControllerOf(queue, { with: [owner(), content(retained)] });
    it.decided();
    await it.vanish(owners, ownerRef);
    expect(it.decided()).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#185] given a later owner of that name, then it is marked', async () => {
    const it = await aController({ with: [owner('later'), content({ deleting: 'yes', ...retained })] });
    expect(isMarked(it)).toBe(true);
    await it.stop();
  });

  it.each([
    { row: 'L2', verb: 'get', resource: owners.plural },
    { row: 'L3', verb: 'patch', resource: contents.plural },
  ])('[snapshot-controller#$row] given $verb that fails, then it is tried again', async ({ verb, resource }) => {
    const it = await aController();
    it.fault(`${verb} ${resource}`, forbidden);
    await it.add(content({ deleting: 'yes', ...retained }));
    expect(isMarked(it)).toBe(false);
    await it.clock.advance(2_000);
    expect(isMarked(it)).toBe(true);
    await it.stop();
  });

  it('[snapshot-controller#L3] given a policy that becomes Delete while it is marked, then it is not marked', async () => {
    const it = await aController();
    const change = (known: KubeObject): KubeObject => withPolicy(known, 'Delete');
    it.overtake(`patch ${contents.plural}`, contents, { ref, change });
    await it.add(content({ deleting: 'yes', ...retained }));
    await it.clock.advance(1_000);
    expect(isMarked(it)).toBe(false);
    expect(it.events).toEqual([event]);
    await it.stop();
  });

  it('[snapshot-controller#L2, 187] given a watch on owners that is silent, then the API server is asked, and an owner that it has counts', async () => {
    const isSilent = (target: FaultTarget): boolean => target.verb === 'watch' && target.resource === owners.plural;
    const it = await aController({ faults: [{ when: isSilent, fault: { kind: 'lag', ms: 60_000 } }] });
    // The first list comes by a watch as well.
    await it.clock.advance(120_000);
    await it.add(owner(), content({ deleting: 'yes', ...retained }));
    expect(it.reads()).toContain(asked);
    expect(isMarked(it)).toBe(false);
    await it.stop();
  });
});

it('[snapshot-controller#185] given a part of a group, with the policy Delete, then it is marked: the storage is not touched for it', async () => {
  const status = { volumeGroupSnapshotHandle: 'group-handle' };
  const it = await aController({ with: [aContent({ deleting: 'yes', status })] });
  expect(it.content()?.metadata?.annotations).toEqual({ [annotations.beingDeleted]: 'yes' });
  expect(it.events).toEqual([]);
  await it.stop();
});
