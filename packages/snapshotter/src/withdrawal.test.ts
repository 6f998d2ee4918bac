// SPDX-License-Identifier: Apache-2.0
/**
 * Upstream's snapshot-controller writes all annotations of a content from its copy. A copy from before the intent removes the intent, as often
 * as it is written. Only a person sets the value `withdrawn`.
 */
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aClass, aContent, aGroupClass, aGroupContent, asked, groupIntent, intent } from '../testing/builders.ts';
import { aSnapshotter, type Fixture, forbidden } from '../testing/snapshotter-fixture.ts';
import type { AnyContent } from './content-types.ts';
import { groupSnapshotKind } from './group-content/kind.ts';
import { snapshotKind } from './content/kind.ts';

interface Kind {
  readonly what: string;
  readonly create: string;
  readonly mark: string;
  readonly seed: (options?: { readonly deleting?: 'asked' | 'direct' }) => AnyContent;
  readonly intent: object;
  readonly current: (s: Fixture) => AnyContent | undefined;
  readonly change: (s: Fixture, how: <C extends AnyContent>(content: C) => C) => void;
  readonly reason: string;
  readonly resource: string;
}

const kinds: readonly Kind[] = [
  {
    what: 'a snapshot',
    create: 'CreateSnapshot',
    mark: snapshotKind.annotations.beingCreated,
    seed: aContent,
    intent,
    current: (s) => s.content(),
    change: (s, how) => s.changeContent(how),
    reason: 'SnapshotDeleteError content',
    resource: 'volumesnapshotcontent',
  },
  {
    what: 'a group',
    create: 'CreateVolumeGroupSnapshot',
    mark: groupSnapshotKind.annotations.beingCreated,
    seed: aGroupContent,
    intent: groupIntent,
    current: (s) => s.group(),
    change: (s, how) => s.changeGroup(how),
    reason: 'GroupSnapshotDeleteError group',
    resource: 'volumegroupsnapshotcontent',
  },
];

/** A write of all annotations by a program whose copy does not have the intent. */
const wiped = <C extends AnyContent>(content: C): C => {
  const { annotations: _all, ...metadata } = content.metadata ?? {};
  return asked({ ...content, metadata });
};
const labelled = (mark: string, value: string) => (content: AnyContent) => ({
  ...content,
  metadata: { ...content.metadata, labels: { ...content.metadata?.labels, [mark]: value } },
});
const left = (s: Fixture, { current }: Kind): readonly unknown[] => [
  current(s),
  s.driver.snapshots(),
  s.driver.groups(),
];
const nothing = [undefined, [], []];

/** The driver takes the snapshot, and its answer is lost. */
async function openCall({ create, seed }: Kind): Promise<Fixture> {
  const s = await aSnapshotter({ seed: [aClass(), aGroupClass()] });
  s.driver.faults.add({ method: create, times: 1, at: 'after', action: { kind: 'hang' } });
  s.server.seed(seed());
  await s.clock.advance(30_000);
  return s;
}

describe.each(kinds)('the intent of $what', (kind) => {
  const { mark, change, current } = kind;
  const withdraw = (s: Fixture): void =>
    change(s, labelled(mark, 'withdrawn') as <C extends AnyContent>(content: C) => C);

  it('[csi-snapshotter#140] given an open call, when stale writes remove the intent three times, then it is written again, and what the driver made is deleted', async () => {
    const s = await openCall(kind);
    for (let write = 0; write < 3; write++) {
      change(s, wiped);
      await s.clock.advance(100);
    }
    expect(s.calls()).toHaveLength(1);
    await s.clock.advance(100_000);
    expect(left(s, kind)).toEqual(nothing);
    await s.stop();
  });

  it('[csi-snapshotter#140] given a call that is repeated, when stale writes remove the intent after each attempt, then it is written again each time, and what the driver made is deleted', async () => {
    const s = await openCall(kind);
    s.failCalls('Aborted', { method: kind.create, times: 3 });
    await s.clock.advance(30_100);
    for (let attempts = s.calls().length; attempts < 4; attempts = s.calls().length) {
      change(s, wiped);
      await s.clock.advance(1_000);
    }
    await s.clock.advance(100_000);
    expect(left(s, kind)).toEqual(nothing);
    await s.stop();
  });

  it('[csi-snapshotter#141] given an open call and a stale write, when the process ends before it could write the intent again, then the next one deletes what the driver made', async () => {
    const s = await openCall(kind);
    change(s, wiped);
    const next = await aSnapshotter({ cluster: s.crash() });
    await next.clock.advance(100_000);
    expect(left(next, kind)).toEqual(nothing);
    await next.stop();
  });

  it('[csi-snapshotter#141] given an intent of upstream, which has no label, when the process starts, then the label is written before the call', async () => {
    const s = await aSnapshotter({ seed: [aClass(), aGroupClass()] });
    s.driver.faults.add({ method: kind.create, times: 1, action: { kind: 'delay', ms: 1_000 } });
    const content = kind.seed();
    s.server.seed({ ...content, metadata: { ...content.metadata, annotations: { [mark]: 'yes' } } } as never);
    await s.settle();
    expect([s.bodies(), s.requests(kind.create).length]).toMatchObject([
      [{ metadata: { annotations: { [mark]: 'yes' }, labels: { [mark]: 'yes' } } }],
      1,
    ]);
    await s.clock.advance(1_000);
    expect(current(s)?.metadata).not.toHaveProperty('annotations');
    expect(current(s)?.metadata).not.toHaveProperty('labels');
    await s.stop();
  });

  it('[csi-snapshotter#147] given a cache that shows half an intent, which another process has withdrawn since, when the content is to be deleted, then it goes without a call', async () => {
    const s = await aSnapshotter({ seed: [aClass(), aGroupClass()] });
    let isWithdrawn = false;
    const withdrawsBefore: FaultRule['when'] = ({ verb, resource }) => {
      if (isWithdrawn || verb !== 'patch' || resource !== `${kind.resource}s`) return false;
      isWithdrawn = true;
      change(
        s,
        ({ metadata: { labels: _label, ...metadata } = {}, ...content }) => ({ ...content, metadata }) as never,
      );
      return false;
    };
    s.faults.push({ when: withdrawsBefore, fault: forbidden });
    s.server.seed(asked(labelled(mark, 'yes')(kind.seed()) as never));
    await s.clock.advance(100_000);
    expect([isWithdrawn, current(s), s.calls()]).toEqual([true, undefined, []]);
    await s.stop();
  });

  it('[csi-snapshotter#142] given a call without an outcome, when an administrator sets the label to withdrawn, then the content goes at once, without a call, and the driver keeps what it has', async () => {
    const s = await openCall(kind);
    change(s, asked);
    s.failCalls('Aborted', { method: kind.create, times: 99 });
    await s.clock.advance(60_000);
    const calls = s.calls().length;
    withdraw(s);
    await s.settle();
    expect([current(s), s.calls().length, s.driver.snapshots().length]).toEqual([
      undefined,
      calls,
      kind.what === 'a group' ? 2 : 1,
    ]);
    await s.stop();
  });

  it('[csi-snapshotter#142, G14] given a call that is under way, when the label is set to withdrawn, then the content goes after the answer', async () => {
    const s = await openCall(kind);
    change(s, asked);
    withdraw(s);
    await s.settle();
    expect(current(s)).toBeDefined();
    await s.clock.advance(31_000);
    expect([current(s), s.calls().length]).toEqual([undefined, 1]);
    await s.stop();
  });

  it('[csi-snapshotter#143] given a content that is not being deleted, when the label is set to withdrawn, then the next attempt writes the intent', async () => {
    const s = await openCall(kind);
    withdraw(s);
    await s.clock.advance(100_000);
    expect(current(s)).toMatchObject({ status: { readyToUse: true } });
    expect(current(s)?.metadata).not.toHaveProperty('labels');
    expect(s.bodies()).toContainEqual({
      metadata: expect.objectContaining({ labels: { [mark]: 'yes' } }),
    });
    await s.stop();
  });

  it('[csi-snapshotter#145, G25] given a deletion without the consent of snapshot-controller, when the label is set to withdrawn, then no call is made any more, and the consent releases the content', async () => {
    const s = await openCall(kind);
    await s.clock.advance(30_100);
    const direct = (content: AnyContent) => ({
      ...content,
      metadata: { ...content.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    });
    change(s, ((content) => labelled(mark, 'withdrawn')(direct(content))) as <C extends AnyContent>(content: C) => C);
    await s.clock.advance(100_000);
    expect([s.calls().length, current(s)?.metadata?.labels]).toEqual([1, { [mark]: 'withdrawn' }]);
    change(s, asked);
    await s.settle();
    expect([current(s), s.calls().length]).toEqual([undefined, 1]);
    await s.stop();
  });

  it('[csi-snapshotter#144] given a deletion that waits for the outcome of a call, then each attempt reports that, with the command that withdraws the intent', async () => {
    const s = await openCall(kind);
    change(s, asked);
    s.failCalls('Aborted', { method: kind.create, times: 2 });
    await s.clock.advance(30_000);
    await s.clock.advance(4_000);
    const { resource } = kind;
    const name = current(s)?.metadata?.name ?? '';
    const held = `Warning ${kind.reason}: the deletion waits for the outcome of ${kind.create}, which is repeated until the driver gives one; if the storage system certainly has nothing of it: kubectl label --overwrite ${resource} ${name} ${mark}=withdrawn`;
    const attempts = s.calls().length;
    expect(attempts).toBe(3);
    expect(s.events.filter((event) => event === held)).toHaveLength(attempts);
    await s.clock.advance(100_000);
    expect(left(s, kind)).toEqual(nothing);
    await s.stop();
  });

  it('[csi-snapshotter#144] given a deletion and a final error, when the intent cannot be removed, then no outcome is waited for, and none is reported so', async () => {
    const s = await openCall(kind);
    await s.clock.advance(30_100);
    change(s, asked);
    s.failCalls('Internal', { method: kind.create });
    const before = s.events.length;
    s.fault(`patch ${kind.resource}s`, forbidden, 1);
    await s.clock.advance(1_000);
    expect([s.calls().at(-1), s.events.slice(before)]).toEqual([
      expect.stringMatching(/ Internal$/),
      [expect.stringContaining('BeingCreated annotation from the')],
    ]);
    await s.stop();
  });

  it('[csi-snapshotter#144] given a deletion that waits, and classes that are gone, then that is reported with the command as well', async () => {
    const s = await aSnapshotter({ seed: [] });
    s.server.seed({ ...kind.seed({ deleting: 'asked' }) } as never);
    change(s, (content) => ({
      ...content,
      metadata: { ...content.metadata, ...kind.intent, finalizers: content.metadata?.finalizers ?? [] },
    }));
    change(s, asked);
    await s.clock.advance(1_000);
    expect(s.events.filter((event) => event.includes(`${mark}=withdrawn`)).length).toBeGreaterThan(0);
    await s.stop();
  });
});
