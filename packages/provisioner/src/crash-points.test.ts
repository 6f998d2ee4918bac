// SPDX-License-Identifier: Apache-2.0
/**
 * The process dies before and after every write and every call of a sequence, once each, and another process continues. In the
 * end every volume is recorded or gone, every provisioning finalizer is removed, and everything that should be deleted is. Where the
 * page of the provisioner documents an open window, the test states it too: no other point may leak.
 */
import { persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aVolume, driverName } from '../testing/builders.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from '../testing/provisioner-fixture.ts';
import { untilQuiet } from '../testing/pv-controller.ts';
import { provisioningFinalizer, volumeFinalizer } from './names.ts';
import type { ProvisioningProtection } from './settings.ts';

interface Story {
  readonly prepare: (p: Fixture) => void;
  /** The user's action right after the crash. */
  readonly meanwhile?: (p: Fixture) => void;
}
interface End {
  readonly point: string;
  readonly leaked: number;
  readonly recorded: number;
  readonly claims: readonly string[];
}

interface Run {
  readonly story: Story;
  /** The value of --provisioning-protection. */
  readonly mode: ProvisioningProtection;
}

/** One run of the sequence; the process dies at the point, if there is such a point. */
async function run({ story, mode }: Run, point: number): Promise<End | undefined> {
  const settings = { provisioningProtection: mode };
  let passed = 0;
  let where: string | undefined;
  const interrupt: FixtureOptions['interrupt'] = (operation, moment) => {
    if (passed++ !== point) return undefined;
    const resource = /persistentvolume(claim)?s/.exec(operation)?.[0];
    where = `${moment} ${resource === undefined ? operation : `${operation.split(' ')[0] ?? ''} ${resource}`}`;
    return 'crash';
  };
  const first = await aProvisioner({ seed: [aClass()], interrupt, settings });
  story.prepare(first);
  await untilQuiet(first);
  if (where === undefined) return undefined;
  const cluster = first.crash();
  story.meanwhile?.(first);
  const next = await aProvisioner({ cluster, seed: [], settings });
  await untilQuiet(next);
  const recorded = next.server.objects.list(persistentVolumes).map(({ spec }) => spec?.csi?.volumeHandle);
  return {
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
