// SPDX-License-Identifier: Apache-2.0
/** The modification loop as it runs: claims in, writes, calls and events out. */
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aVolume } from '../../testing/builders.ts';
import { aResizer } from '../../testing/resizer-fixture.ts';

const marked = 'patch persistentvolumeclaims/status team/data 200';
const volumeSaved = 'patch persistentvolumes pv1 200';
const claim = aClaim({ spec: '1Gi', wantedClass: 'gold' });

describe('a modification', () => {
  it('[resizer#144] given a claim that names a class for the first time, then three writes, one call, two events', async () => {
    const r = await aResizer({ seed: [claim, aVolume(), aClass()] });
    expect(r.writes()).toEqual([marked, volumeSaved, marked]);
    expect(r.calls()).toEqual(['ControllerModifyVolume volume-1 OK']);
    expect(r.requests('ControllerModifyVolume')[0]).toMatchObject({ mutable_parameters: { iops: '1000' } });
    expect(r.events).toEqual([
      'Normal VolumeModify team/data: external resizer is modifying volume data with vac gold',
      'Normal VolumeModifySuccessful team/data: external resizer modified volume data with vac gold successfully',
    ]);
    expect(r.claim()?.status).toEqual({
      phase: 'Bound',
      capacity: { storage: '1Gi' },
      currentVolumeAttributesClassName: 'gold',
    });
    expect(r.volume()?.spec?.volumeAttributesClassName).toBe('gold');
    await r.clock.advance(3_600_000);
    expect(r.writes().length).toBe(3);
    await r.stop();
  });

  it('given a class that comes after the claim that names it, then it wakes the claim, which upstream leaves Pending', async () => {
    const r = await aResizer({ seed: [claim, aVolume()] });
    expect([r.writes(), r.calls()]).toEqual([[marked], []]);
    expect(r.claim()?.status?.modifyVolumeStatus).toEqual({ status: 'Pending' });
    r.server.seed(aClass());
    await r.settle();
    expect(r.calls()).toEqual(['ControllerModifyVolume volume-1 OK']);
    expect(r.claim()?.status?.currentVolumeAttributesClassName).toBe('gold');
    await r.stop();
  });
});
