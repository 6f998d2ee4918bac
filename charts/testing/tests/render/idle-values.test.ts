// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { hasHelm } from '../../helm.ts';
import { idleValues } from '../../idle-values.ts';
import { valuesFiles } from '../../matrix.ts';

describe.skipIf(!hasHelm)('the values file full', () => {
  it.each([
    // Only the notes say what becomes of that taint.
    { chart: 'csi-driver', idle: ['node.startupTaint'] },
    { chart: 'snapshot-controller', idle: [] },
  ])(
    'given all that $chart can do, without one of its values or with another one in its place, then something else is rendered',
    async ({ chart, idle }) => {
      const { path, ...cluster } = valuesFiles(chart).find(({ name }) => name === 'full')!;
      expect(await idleValues(path, { chart, ...cluster })).toEqual(idle);
    },
    // One run of helm for each value.
    240_000,
  );
});
