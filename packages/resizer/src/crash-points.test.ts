// SPDX-License-Identifier: Apache-2.0
/**
 * The process dies before and after every write and every call of a story, once each, and another one goes on. In the end the size
 * of the claim, the size of the volume and the status agree, and nothing that others wrote is lost.
 */
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aCondition, aVolume } from '../testing/builders.ts';
import { aResizer, type Fixture, type FixtureOptions, gib } from '../testing/resizer-fixture.ts';
import { annotations } from './names.ts';

interface Story {
  readonly options: FixtureOptions;
  readonly prepare?: (r: Fixture) => void;
  readonly claim: ReturnType<typeof aClaim>;
  /** What a user does right after the crash. */
  readonly meanwhile?: (r: Fixture) => void;
}

interface End {
  readonly point: string;
  /** Sizes of the volume in the driver, of the PersistentVolume and of the claim. */
  readonly sizes: readonly [string, string | undefined, string | undefined];
  readonly status: object | undefined;
  readonly classes: readonly [unknown, string | undefined];
  readonly foreign: readonly unknown[];
}

const foreignCondition = aCondition('Unused', { lastProbeTime: '2025-01-01T00:00:00Z' });

/** One run of the story; the process dies at the point, if there is such a point. */
async function run(story: Story, point: number): Promise<End | undefined> {
  let passed = 0;
  let where: string | undefined;
  const interrupt: FixtureOptions['interrupt'] = (operation, moment) => {
    if (passed++ !== point) return undefined;
    where = `${moment} ${operation.split('/').at(-1) ?? ''}`;
    return 'crash';
  };
  const first = await aResizer({ ...story.options, seed: [aVolume(), aClass()], interrupt });
  story.prepare?.(first);
  first.server.seed({ ...story.claim, metadata: { ...story.claim.metadata, labels: { of: 'a user' } } } as never);
  await first.clock.advance(60_000);
  if (where === undefined) {
    await first.stop();
    return undefined;
  }
  const cluster = first.crash();
  first.changeClaim((it) => ({
    ...it,
    metadata: { ...it.metadata, annotations: { ...it.metadata?.annotations, of: 'another' } },
    status: { ...it.status, conditions: [...(it.status?.conditions ?? []), foreignCondition] },
  }));
  story.meanwhile?.(first);
  const next = await aResizer({ cluster, settings: story.options.settings ?? {} });
  await next.clock.advance(600_000);
  const { metadata, status } = next.claim() ?? {};
  const volume = next.driver.volumes().find(({ id }) => id === 'volume-1');
  const { capacity, allocatedResourceStatuses, conditions = [], currentVolumeAttributesClassName } = status ?? {};
  await next.stop();
  return {
    point: where,
    sizes: [
      `${BigInt(volume?.capacityBytes ?? 0) / gib}Gi`,
      next.volume()?.spec?.capacity?.['storage'],
      capacity?.['storage'],
    ],
    status: allocatedResourceStatuses,
    classes: [volume?.mutableParameters, currentVolumeAttributesClassName],
    foreign: [metadata?.labels, metadata?.annotations?.['of'], conditions.filter(({ type }) => type === 'Unused')],
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

const untouched = [{ of: 'a user' }, 'another', [foreignCondition]];
const pointsOf = (ends: readonly End[]): readonly string[] => ends.map(({ point }) => point);
const both = (...operations: readonly string[]): readonly string[] =>
  operations.flatMap((it) => [`before ${it}`, `after ${it}`]);

describe('a crash at every point of an expansion', () => {
  it('given no node, then driver, PersistentVolume and claim have the size, and no status is left', async () => {
    const ends = await everyPoint({ options: { node: [] }, claim: aClaim() });
    expect(pointsOf(ends)).toEqual(both('status', 'ControllerExpandVolume', 'pv1', 'status'));
    for (const end of ends) {
      expect(end).toMatchObject({ sizes: ['2Gi', '2Gi', '2Gi'], foreign: untouched });
      expect([end.point, end.status]).toEqual([end.point, undefined]);
    }
  });

  it('given a node, then the claim waits for it, and driver and PersistentVolume have the size', async () => {
    const ends = await everyPoint({ options: {}, claim: aClaim() });
    expect(pointsOf(ends)).toEqual(both('status', 'ControllerExpandVolume', 'pv1', 'status'));
    for (const { point, ...end } of ends) {
      expect([point, end.sizes, end.status, end.foreign]).toEqual([
        point,
        ['2Gi', '2Gi', '1Gi'],
        { storage: 'NodeResizePending' },
        untouched,
      ]);
    }
  });

  it('given a size that the driver refuses and a user who lowers it, then the lower size, everywhere', async () => {
    const ends = await everyPoint({
      options: { node: [] },
      claim: aClaim({ spec: '4Gi' }),
      prepare: (r) => r.failCalls('OutOfRange', { times: 9 }),
      meanwhile: (r) => {
        r.driver.faults.list().forEach(({ id }) => r.driver.faults.remove(id));
        r.ask('2Gi');
      },
    });
    expect(pointsOf(ends)).toEqual(both('status', 'ControllerExpandVolume', 'status'));
    // Where 4Gi is recorded and its outcome is not known, that size comes first, and the driver grants it now.
    const granted = ends.map(({ point, sizes }) => `${point}: ${sizes.join(' ')}`);
    expect(granted).toEqual([
      'before status: 2Gi 2Gi 2Gi',
      'after status: 4Gi 4Gi 4Gi',
      'before ControllerExpandVolume: 4Gi 4Gi 4Gi',
      'after ControllerExpandVolume: 4Gi 4Gi 4Gi',
      'before status: 4Gi 4Gi 4Gi',
      'after status: 2Gi 2Gi 2Gi',
    ]);
    for (const { point, status, foreign } of ends)
      expect([point, status, foreign]).toEqual([point, undefined, untouched]);
  });
});

describe('a crash at every point of a modification', () => {
  const claim = aClaim({ spec: '1Gi', wantedClass: 'gold' });

  it('then driver, PersistentVolume and claim have the class, and nothing is recorded', async () => {
    const ends = await everyPoint({ options: {}, claim });
    expect(pointsOf(ends)).toEqual(both('status', 'ControllerModifyVolume', 'pv1', 'status'));
    for (const { point, classes, foreign } of ends) {
      expect([point, classes, foreign]).toEqual([point, [{ iops: '1000' }, 'gold'], untouched]);
    }
  });

  it('given a class that the driver refuses, then it is asked once more and the refusal is recorded', async () => {
    const ends = await everyPoint({
      options: {},
      claim,
      prepare: (r) => r.failCalls('InvalidArgument', { method: 'ControllerModifyVolume', times: 99 }),
    });
    expect(pointsOf(ends)).toEqual(both('status', 'ControllerModifyVolume', 'status'));
    for (const { point, classes, foreign } of ends)
      expect([point, classes, foreign]).toEqual([point, [{}, undefined], untouched]);
  });
});

it('given a crash at every point of both at once, then sizes and classes agree', async () => {
  const ends = await everyPoint({ options: { node: [] }, claim: aClaim({ wantedClass: 'gold' }) });
  expect(ends.length).toBe(16);
  for (const { point, sizes, classes, foreign } of ends) {
    expect([point, sizes, classes, foreign]).toEqual([
      point,
      ['2Gi', '2Gi', '2Gi'],
      [{ iops: '1000' }, 'gold'],
      untouched,
    ]);
  }
});

it('given a crash at every point of the removal of a recorded size, then it is gone', async () => {
  for (const moment of ['before', 'after'] as const) {
    const recorded = aVolume({ cap: '2Gi', annotations: { [annotations.preResizeCapacity]: '1Gi' } });
    const first = await aResizer({
      seed: [aClaim({ cap: '2Gi' }), recorded],
      interrupt: (_, at) => (at === moment ? 'crash' : undefined),
    });
    const next = await aResizer({ cluster: first.crash() });
    expect(next.volume()!.metadata?.annotations).toBeUndefined();
    await next.stop();
  }
});
