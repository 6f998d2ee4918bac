// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { usageText } from '../flags/usage.ts';
import { snapshotControllerProgram } from './snapshot-controller.ts';

it('given a program, then its usage text names every flag with its default', async () => {
  for (const program of [snapshotControllerProgram]) {
    const text = await usageText(program.name, program.flags);
    expect(text).toContain(`Usage of ${program.name}:`);
    for (const name of Object.keys(program.flags)) expect(text).toMatch(new RegExp(`-${name}\\b`));
  }
});
