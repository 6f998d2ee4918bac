// SPDX-License-Identifier: Apache-2.0
/** The flows in which a claim may be protected, with the two other values of --provisioning-protection. */
import { describePoints } from './describe-points.ts';
import { type Flow, flows } from './flows.ts';
import { provisionerWith } from './programs.ts';

const file = 'e2e/src/simulation/protection-crash-points.test.ts';
const names = ['create', 'slow-create', 'delete-while-creating', 'reschedule', 'too-small', 'save-later'];

interface Choice {
  readonly names: readonly string[];
  /** By the name of a flow. Default none. */
  readonly openWindows?: Readonly<Record<string, readonly string[]>>;
}

function flowsWith(protection: 'always' | 'off', { names: chosen, openWindows = {} }: Choice): readonly Flow[] {
  const program = provisionerWith({ provisioningProtection: protection });
  return flows
    .filter(({ name }) => chosen.includes(name))
    .map((flow) => ({
      ...flow,
      name: `${flow.name} (${protection})`,
      program,
      openWindows: openWindows[flow.name] ?? [],
    }));
}

await describePoints(flowsWith('always', { names: [...names, 'delete-while-unsettled'] }), file);
// Without a finalizer, a claim that is deleted while unsettled leaks at nearly every point: the unit test lists them.
const openWindows = {
  'delete-while-creating': [
    'crash after CreateVolume',
    'driver crash after CreateVolume',
    'crash before create persistentvolumes',
  ],
};
await describePoints(flowsWith('off', { names, openWindows }), file);
