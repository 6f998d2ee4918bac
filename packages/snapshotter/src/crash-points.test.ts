// SPDX-License-Identifier: Apache-2.0
/**
 * The process dies before and after every write and every call of a story, once each, and another one goes on. In the end content and
 * driver agree, no intent is left, no snapshot without an owner, and nothing that others wrote is lost.
 */
import { describe, expect, it } from 'vitest';
import { aClass, aContent, aGroupClass, aGroupContent, asked } from '../testing/builders.ts';
import { aSnapshotter, type Fixture, type FixtureOptions } from '../testing/snapshotter-fixture.ts';

interface Story {
  readonly options?: FixtureOptions;
  /** Before the content appears. */
  readonly prepare?: (s: Fixture) => Promise<void> | void;
  readonly content: ReturnType<typeof aContent> | ReturnType<typeof aGroupContent>;
  /** What happens right after the crash. */
  readonly meanwhile?: (s: Fixture) => void;
}

interface End {
  readonly point: string;
  readonly content: object | undefined;
  readonly annotations: object | undefined;
  readonly snapshots: number;
  readonly groups: number;
}

/** One run of the story; the process dies at the point, if there is such a point. */
async function run(story: Story, point: number): Promise<End | undefined> {
  let passed = 0;
  let where: string | undefined;
  let armed = false;
  const interrupt: FixtureOptions['interrupt'] = (operation, moment) => {
    if (!armed || passed++ !== point) return undefined;
    where = `${moment} ${operation.split('/').at(-1) ?? ''}`;
    return 'crash';
  };
  const first = await aSnapshotter({ ...story.options, seed: [aClass(), aGroupClass()], interrupt });
  await story.prepare?.(first);
  armed = true;
  first.server.seed(story.content);
  await first.clock.advance(60_000);
  if (where === undefined) {
    await first.stop();
    return undefined;
  }
  const cluster = first.crash();
  story.meanwhile?.(first);
  const next = await aSnapshotter({ cluster });
  await next.clock.advance(600_000);
  const content = next.content() ?? next.group();
  await next.stop();
  return {
    point: where,
    content: content?.status,
    annotations: content?.metadata?.annotations ?? {},
    snapshots: next.driver.snapshots().length,
    groups: next.driver.groups().length,
  };
}

async function everyPoint(story: Story): Promise<readonly End[]> {
  const ends: End[] = [];
  for (let point = 0; ; point++) {
    const end = await run(story, point);
    if (end === undefined) return ends;
    ends.push(end);
  }
}

const both = (...operations: readonly string[]): readonly string[] =>
  operations.flatMap((it) => [`before ${it}`, `after ${it}`]);
const foreign = { of: 'another' };
const addForeign = (s: Fixture): void =>
  s.changeContent((it) => ({
    ...it,
    metadata: { ...it.metadata, annotations: { ...it.metadata?.annotations, ...foreign } },
  }));

describe('a crash at every point of a creation', () => {
  it('given a snapshot that is ready at once, then it is there once, and the intent is withdrawn', async () => {
    const ends = await everyPoint({ content: aContent(), meanwhile: addForeign });
    expect(ends.map(({ point }) => point)).toEqual(both('content', 'CreateSnapshot', 'status', 'content'));
    for (const { point, ...end } of ends) {
      expect([point, end]).toEqual([
        point,
        {
          content: expect.objectContaining({ snapshotHandle: 'snapshot-4', readyToUse: true }),
          annotations: foreign,
          snapshots: 1,
          groups: 0,
        },
      ]);
    }
  });

  it('given a driver that refuses once, then the snapshot is there once all the same', async () => {
    const ends = await everyPoint({
      content: aContent(),
      prepare: (s) => s.failCalls('Internal'),
      meanwhile: addForeign,
    });
    expect(ends.length).toBeGreaterThanOrEqual(14);
    for (const { point, content, annotations, snapshots } of ends) {
      expect([point, content, annotations, snapshots]).toEqual([
        point,
        {
          snapshotHandle: 'snapshot-4',
          readyToUse: true,
          creationTime: expect.anything(),
          restoreSize: expect.anything(),
        },
        foreign,
        1,
      ]);
    }
  });

  it('given a user who deletes the content right after the crash, then neither content nor snapshot is left', async () => {
    const ends = await everyPoint({ content: aContent(), meanwhile: (s) => s.changeContent(asked) });
    expect(ends).toHaveLength(8);
    for (const { point, content, snapshots } of ends)
      expect([point, content, snapshots]).toEqual([point, undefined, 0]);
  });

  it('given a group, then it is there once with its members, and the intent is withdrawn', async () => {
    const ends = await everyPoint({ content: aGroupContent() });
    expect(ends.map(({ point }) => point)).toEqual(both('group', 'CreateVolumeGroupSnapshot', 'status', 'group'));
    for (const { point, ...end } of ends) {
      expect([point, end]).toMatchObject([
        point,
        { content: { readyToUse: true }, annotations: {}, snapshots: 2, groups: 1 },
      ]);
      expect(end.content).toHaveProperty('volumeSnapshotInfoList.length', 2);
    }
  });

  it('given a group that a user deletes right after the crash, then nothing is left', async () => {
    const ends = await everyPoint({ content: aGroupContent(), meanwhile: (s) => s.changeGroup(asked) });
    expect(ends).toHaveLength(8);
    for (const { point, content, snapshots, groups } of ends) {
      expect([point, content, snapshots, groups]).toEqual([point, undefined, 0, 0]);
    }
  });
});

describe('a crash at every point of a deletion', () => {
  const timeoutMs = 1_000;

  it('given a snapshot, then neither content nor snapshot is left', async () => {
    const ends = await everyPoint({
      prepare: async (s) => {
        const request = { name: 'before', source_volume_id: 'volume-1' };
        await s.driver.channel().call('/csi.v1.Controller/CreateSnapshot', request, { timeoutMs });
      },
      content: aContent({ status: { snapshotHandle: 'snapshot-4', readyToUse: true }, deleting: 'asked' }),
    });
    expect(ends.map(({ point }) => point)).toEqual(both('DeleteSnapshot', 'status', 'content'));
    for (const { point, content, snapshots } of ends)
      expect([point, content, snapshots]).toEqual([point, undefined, 0]);
  });

  it('given a group, then neither content nor members are left', async () => {
    const ends = await everyPoint({
      prepare: async (s) => {
        const request = { name: 'before', source_volume_ids: ['volume-1', 'volume-2'] };
        const channel = s.driver.channel();
        await channel.call('/csi.v1.GroupController/CreateVolumeGroupSnapshot', request, { timeoutMs });
      },
      content: aGroupContent({
        status: {
          volumeGroupSnapshotHandle: 'group-4',
          readyToUse: true,
          volumeSnapshotInfoList: [{ snapshotHandle: 'snapshot-5' }, { snapshotHandle: 'snapshot-6' }],
        },
        deleting: 'asked',
      }),
    });
    expect(ends.map(({ point }) => point)).toEqual(both('DeleteVolumeGroupSnapshot', 'status', 'group'));
    for (const { point, content, snapshots, groups } of ends) {
      expect([point, content, snapshots, groups]).toEqual([point, undefined, 0, 0]);
    }
  });
});
