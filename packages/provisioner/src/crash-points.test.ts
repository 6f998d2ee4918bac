// SPDX-License-Identifier: Apache-2.0
/**
 * The process dies before and after every write and every call of a sequence, once each, and another process continues. In the
 * end every volume is recorded or gone, every provisioning finalizer and every finalizer on a snapshot is removed, and everything that should be deleted is. Where the
 * page of the provisioner documents an open window, the test states it too: no other point may leak.
 */
import { describe, expect, it } from 'vitest';
import { persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { volumeSnapshots } from '@csi-sidecars/volume';
import { aClaim, aClass, aVolume, driverName, someSettings } from '../testing/builders.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from '../testing/provisioner-fixture.ts';
import { untilQuiet } from '../testing/pv-controller.ts';
import { copying, fromClaim, fromSnapshot, prepareSources, snapshotOf } from '../testing/sources.ts';
import { provisioningFinalizer, volumeFinalizer } from './names.ts';
import type { ProvisioningProtection } from './settings.ts';

interface Story {
  readonly prepare: (p: Fixture) => void | Promise<void>;
  /** The bound claim `origin`, which nothing but us holds, and its snapshot `daily` exist, and the driver copies them. */
  readonly sources?: 'exist';
  /** The user's action right after the crash. */
  readonly meanwhile?: (p: Fixture) => void;
}
interface End {
  readonly point: string;
  readonly leaked: number;
  readonly recorded: number;
  readonly claims: readonly string[];
  /** Our finalizers on the snapshot. Only with sources. */
  readonly snapshot?: readonly string[];
}

interface Run {
  readonly story: Story;
  /** The value of --provisioning-protection. */
  readonly mode: ProvisioningProtection;
}

/** One run of the sequence; the process dies at the point, if there is such a point. */
async function run({ story, mode }: Run, point: number): Promise<End | undefined> {
  const settings = {
    provisioningProtection: mode,
    features: { ...someSettings().features, snapshotSweep: story.sources === 'exist' },
  };
  const driver: FixtureOptions = story.sources === 'exist' ? { controller: copying } : {};
  let isPrepared = false;
  let passed = 0;
  let where: string | undefined;
  const interrupt: FixtureOptions['interrupt'] = (operation, moment) => {
    if (!isPrepared || passed++ !== point) return undefined;
    const resource = /persistentvolume(claim)?s|volumesnapshots/.exec(operation)?.[0];
    where = `${moment} ${resource === undefined ? operation : `${operation.split(' ')[0] ?? ''} ${resource}`}`;
    return 'crash';
  };
  const first = await aProvisioner({ seed: [aClass()], interrupt, settings, ...driver });
  if (story.sources === 'exist') await prepareSources(first, { origin: { finalizers: [] } });
  isPrepared = true;
  await story.prepare(first);
  await untilQuiet(first);
  if (where === undefined) return undefined;
  const cluster = first.crash();
  story.meanwhile?.(first);
  const next = await aProvisioner({ cluster, seed: [], settings });
  await untilQuiet(next);
  const recorded = next.server.objects.list(persistentVolumes).map(({ spec }) => spec?.csi?.volumeHandle);
  const snapshot = snapshotOf(next)?.metadata?.finalizers ?? [];
  return {
    ...(story.sources === 'exist' ? { snapshot } : {}),
    point: where,
    leaked: next.driver.volumes().filter(({ id }) => !recorded.includes(id)).length,
    recorded: recorded.length,
    claims: next.server.objects
      .list(persistentVolumeClaims)
      .map(
        ({ metadata, status }) =>
          `${status?.phase ?? ''}${metadata?.finalizers?.includes(provisioningFinalizer(driverName)) === true ? ' protected' : ''}`,
      ),
  };
}

async function everyPoint(story: Story, mode: ProvisioningProtection = 'ambiguous'): Promise<readonly End[]> {
  const ends: End[] = [];
  for (let point = 0; ; point++) {
    const end = await run({ story, mode }, point);
    if (end === undefined) return ends;
    ends.push(end);
  }
}

const provision: Story = { prepare: (p) => void p.server.seed(aClaim()) };
/** The first answer is lost while the driver works on; later ones come. */
const provisionSlowly: Story = {
  prepare: (p) => {
    p.driver.faults.add({ method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'delay', ms: 12_000 } });
    p.server.seed(aClaim());
  },
};
const thenDelete = (story: Story): Story => ({ ...story, meanwhile: (p) => p.deleteClaim() });

const pointsOf = (ends: readonly End[]): readonly string[] => ends.map(({ point }) => point);
const oneEach = { leaked: 0, recorded: 1, claims: ['Bound'] };

describe('a crash at every point', () => {
  it('given a claim that stays, when provisioned, then one volume, recorded and bound', async () => {
    const ends = await everyPoint(provision);
    expect(pointsOf(ends)).toEqual([
      'before /csi.v1.Controller/CreateVolume',
      'after /csi.v1.Controller/CreateVolume',
      'before POST persistentvolumes',
      'after POST persistentvolumes',
    ]);
    expect(ends).toEqual(ends.map(({ point }) => ({ point, ...oneEach })));
  });

  it('given an ambiguous answer and a claim that stays, when provisioned, then one volume, recorded and bound', async () => {
    const ends = await everyPoint(provisionSlowly);
    expect(pointsOf(ends).filter((point) => point.endsWith('PUT persistentvolumeclaims'))).toHaveLength(4);
    expect(ends).toEqual(ends.map(({ point }) => ({ point, ...oneEach })));
  });

  it('given a claim deleted right after, when provisioned, then nothing is left, except in the windows of the first call', async () => {
    const ends = await everyPoint(thenDelete(provision));
    expect(ends.filter(({ leaked }) => leaked > 0).map(({ point }) => point)).toEqual([
      'after /csi.v1.Controller/CreateVolume',
      'before POST persistentvolumes',
    ]);
    expect(ends.map(({ recorded, claims }) => [recorded, claims])).toEqual(ends.map(() => [0, []]));
  });

  it('given an ambiguous answer and a claim deleted right after, when settled, then nothing is left once the finalizer is written', async () => {
    const ends = await everyPoint(thenDelete(provisionSlowly));
    const leaking = ends.filter(({ leaked }) => leaked > 0).map(({ point }) => point);
    expect(leaking).toEqual(['after /csi.v1.Controller/CreateVolume', 'before PUT persistentvolumeclaims']);
    expect(ends.map(({ recorded, claims }) => [recorded, claims])).toEqual(ends.map(() => [0, []]));
  });

  it('given a released volume, when deleted, then neither volume nor object is left', async () => {
    const ends = await everyPoint({
      prepare: (p) => void p.server.seed(aVolume({ finalizers: [volumeFinalizer] })),
    });
    expect(ends).toHaveLength(6);
    expect(ends).toEqual(ends.map(({ point }) => ({ point, leaked: 0, recorded: 0, claims: [] })));
  });
});

describe('a crash at every point, with --provisioning-protection=always', () => {
  it('given a claim that stays, when provisioned, then one volume, recorded and bound, at two more writes', async () => {
    for (const story of [provision, provisionSlowly]) {
      const ends = await everyPoint(story, 'always');
      expect(pointsOf(ends).filter((point) => point.endsWith('PUT persistentvolumeclaims'))).toHaveLength(4);
      expect(ends).toEqual(ends.map(({ point }) => ({ point, ...oneEach })));
    }
  });

  it('given a claim deleted right after, when its outcome is found, then nothing is left, at any point', async () => {
    for (const story of [provision, provisionSlowly]) {
      const ends = await everyPoint(thenDelete(story), 'always');
      expect(ends).toEqual(ends.map(({ point }) => ({ point, leaked: 0, recorded: 0, claims: [] })));
    }
  });
});

describe('a crash at every point, with --provisioning-protection=off', () => {
  it('given a claim that stays, when provisioned, then one volume, recorded and bound, without a write to the claim', async () => {
    for (const story of [provision, provisionSlowly]) {
      const ends = await everyPoint(story, 'off');
      expect(pointsOf(ends).filter((point) => point.endsWith('PUT persistentvolumeclaims'))).toEqual([]);
      expect(ends).toEqual(ends.map(({ point }) => ({ point, ...oneEach })));
    }
  });

  it('given an ambiguous answer and a claim deleted right after, when the process dies before the record, then the volume leaks, as with upstream', async () => {
    const ends = await everyPoint(thenDelete(provisionSlowly), 'off');
    expect(ends.filter(({ leaked }) => leaked > 0).map(({ point }) => point)).toEqual([
      'after /csi.v1.Controller/CreateVolume',
      'before /csi.v1.Controller/CreateVolume',
      'after /csi.v1.Controller/CreateVolume',
      'before /csi.v1.Controller/CreateVolume',
      'after /csi.v1.Controller/CreateVolume',
      'before POST persistentvolumes',
    ]);
    expect(ends.map(({ recorded, claims }) => [recorded, claims])).toEqual(ends.map(() => [0, []]));
  });
});

describe('a crash at every point of a copy', () => {
  const restore: Story = { sources: 'exist', prepare: (p) => void p.server.seed(aClaim({ spec: fromSnapshot })) };
  const clone: Story = { sources: 'exist', prepare: (p) => void p.server.seed(aClaim({ spec: fromClaim })) };
  const slowly = (story: Story): Story => ({
    ...story,
    prepare: (p) => {
      p.driver.faults.add({ method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'delay', ms: 12_000 } });
      return story.prepare(p);
    },
  });
  const bothBound = { leaked: 0, recorded: 2, claims: ['Bound', 'Bound'], snapshot: [] };
  const writesOf = (ends: readonly End[], resource: string): number =>
    pointsOf(ends).filter((point) => point.endsWith(`PUT ${resource}`)).length;

  it('given a restore, then one volume, recorded and bound, and no finalizer is left on the snapshot', async () => {
    const ends = await everyPoint(restore);
    expect(pointsOf(ends)).toEqual([
      'before PUT volumesnapshots',
      'after PUT volumesnapshots',
      'before /csi.v1.Controller/CreateVolume',
      'after /csi.v1.Controller/CreateVolume',
      'before POST persistentvolumes',
      'after POST persistentvolumes',
      'before PUT volumesnapshots',
      'after PUT volumesnapshots',
    ]);
    expect(ends).toEqual(ends.map(({ point }) => ({ point, ...bothBound })));
  });

  it('given a restore whose first answer is ambiguous, then one volume, recorded and bound, and no finalizer is left', async () => {
    const ends = await everyPoint(slowly(restore));
    expect([writesOf(ends, 'persistentvolumeclaims'), writesOf(ends, 'volumesnapshots')]).toEqual([4, 4]);
    expect(ends).toEqual(ends.map(({ point }) => ({ point, ...bothBound })));
  });

  it('given a restore whose claim is deleted right after, then nothing of it is left, except in the windows of the first call', async () => {
    const ends = await everyPoint(thenDelete(restore));
    expect(ends.filter(({ leaked }) => leaked > 0).map(({ point }) => point)).toEqual([
      'after /csi.v1.Controller/CreateVolume',
      'before POST persistentvolumes',
    ]);
    expect(ends.map(({ recorded, claims, snapshot }) => [recorded, claims, snapshot])).toEqual(
      ends.map(() => [1, ['Bound'], []]),
    );
  });

  it('given an ambiguous restore whose claim is deleted right after, then nothing of it is left once the provisioning finalizer is written', async () => {
    const ends = await everyPoint(thenDelete(slowly(restore)));
    expect(ends.filter(({ leaked }) => leaked > 0).map(({ point }) => point)).toEqual([
      'after /csi.v1.Controller/CreateVolume',
      'before PUT persistentvolumeclaims',
    ]);
    expect(ends.map(({ recorded, claims, snapshot }) => [recorded, claims, snapshot])).toEqual(
      ends.map(() => [1, ['Bound'], []]),
    );
  });

  it('given a restore whose snapshot is deleted right after, then the snapshot goes, and from its finalizer on the restore completes', async () => {
    for (const story of [restore, slowly(restore)]) {
      const deleteSnapshot = (p: Fixture): void => p.server.objects.delete(volumeSnapshots, daily);
      const ends = await everyPoint({ ...story, meanwhile: deleteSnapshot });
      const [first, ...others] = ends;
      expect(first).toEqual({ ...bothBound, point: 'before PUT volumesnapshots', recorded: 1, claims: first?.claims });
      expect(first?.claims.toSorted()).toEqual(['Bound', 'Pending']);
      expect(others).toEqual(others.map(({ point }) => ({ point, ...bothBound })));
    }
  });

  it('given a clone, then one volume, recorded and bound', async () => {
    for (const story of [clone, slowly(clone)]) {
      const ends = await everyPoint(story);
      expect(pointsOf(ends).slice(0, 2)).toEqual([
        'before PUT persistentvolumeclaims',
        'after PUT persistentvolumeclaims',
      ]);
      expect(ends).toEqual(ends.map(({ point }) => ({ point, ...bothBound })));
    }
  });

  it('given a clone whose source is deleted right after, then the source goes, and from its finalizer on the clone completes', async () => {
    for (const story of [clone, slowly(clone)]) {
      const ends = await everyPoint({ ...story, meanwhile: (p) => p.deleteClaim('origin') });
      const [first, ...others] = ends;
      expect(first).toEqual({
        ...bothBound,
        point: 'before PUT persistentvolumeclaims',
        recorded: 0,
        claims: ['Pending'],
      });
      expect(others).toEqual(others.map(({ point }) => ({ point, ...bothBound, recorded: 1, claims: ['Bound'] })));
    }
  });
});

const daily = { namespace: 'team', name: 'daily' };
