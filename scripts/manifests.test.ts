// SPDX-License-Identifier: Apache-2.0
import { helpText, usageText } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { manifests } from './manifests.ts';

it.each(manifests.map(({ commandLine: name, flags }) => ({ name, flags: flags.flags })))(
  'given $name, then its help fits two screens, and its usage text names every flag',
  async ({ name, flags }) => {
    const lines = helpText(name, flags).trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(48);
    expect(lines.filter((line) => line.length > 120)).toEqual([]);
    const text = await usageText(name, flags);
    expect(text).toContain(`Usage of ${name}:`);
    const shown = Object.entries(flags).filter(([, { hidden }]) => hidden !== true);
    for (const [flag] of shown) expect(text).toMatch(new RegExp(`-${flag}\\b`));
  },
);
