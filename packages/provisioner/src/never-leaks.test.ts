// SPDX-License-Identifier: Apache-2.0
/**
 * Whatever the driver answers, whatever the API server refuses, whenever users delete and processes restart or die:
 * once nothing happens any more, there is one record per volume, no finalizer is left, and deleted claims are gone.
 */
import { persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { aClaim, aClass, driverName } from '../testing/builders.ts';
import { aProvisioner } from '../testing/provisioner-fixture.ts';
import { untilQuiet } from '../testing/pv-controller.ts';
import { consistent, playStep, storyClaims, storyStep } from '../testing/random-stories.ts';
import { provisioningFinalizer } from './names.ts';

it.each(['ambiguous', 'always'] as const)(
  'given --provisioning-protection=%s and any sequence of failures, deletions, restarts and crashes, when it has ended, then nothing is lost or leaked',
  async (mode) => {
    await fc.assert(
      fc.asyncProperty(fc.array(storyStep, { maxLength: 12 }).map(consistent), async (steps) => {
        let p = await aProvisioner({ seed: [aClass()], settings: { provisioningProtection: mode } });
        const [early, late] = [steps.slice(0, 4), steps.slice(4)];
        for (const next of early.filter(({ kind }) => kind !== 'delete')) p = await playStep(p, next, { mode });
        for (const name of storyClaims) p.server.seed(aClaim({ name }));
        await p.settle();
        for (const next of late) p = await playStep(p, next, { mode });
        p.driver.faults.clear();
        p.faults.splice(0);
        await untilQuiet(p);
        const volumes = p.server.objects.list(persistentVolumes);
        const claims = p.server.objects.list(persistentVolumeClaims);
        const recorded = volumes.map(({ spec }) => spec?.csi?.volumeHandle);
        expect(new Set(p.driver.volumes().map(({ id }) => id))).toEqual(new Set(recorded));
        expect(
          claims.filter(({ metadata }) => metadata?.finalizers?.includes(provisioningFinalizer(driverName)) === true),
        ).toEqual([]);
        expect(claims.map(({ status }) => status?.phase)).toEqual(claims.map(() => 'Bound'));
        expect(volumes).toHaveLength(claims.length);
        await p.stop();
        expect(p.clock.pending).toBe(0);
      }),
      { numRuns: 150, seed: 20_260_101 },
    );
  },
  60_000,
);
