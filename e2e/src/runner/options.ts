// SPDX-License-Identifier: Apache-2.0
/** The command line of `npm run e2e --`. */
import { parseArgs } from 'node:util';
import type { RbacProfile } from '../rbac/profiles.ts';

export interface RunnerOptions {
  readonly controlPlane: ControlPlaneName;
  /** Ids; absent: all. */
  readonly only: readonly string[] | undefined;
  readonly rbac: RbacProfile;
  readonly concurrency: number;
  /** Needs whose absence is a failure and not a reason to leave a scenario out. */
  readonly require: readonly string[];
  readonly list: boolean;
}

export type ControlPlaneName = 'local';

const controlPlaneNames: readonly ControlPlaneName[] = ['local'];
const profiles: readonly RbacProfile[] = ['stock', 'minimal'];

export const usage: string = `usage: npm run e2e -- [options]
  --control-plane=NAME   ${controlPlaneNames.join(', ')} (default ${controlPlaneNames[0]})
  --only=P-01,P-02       these scenarios; a prefix such as P- stands for all that begin with it
  --rbac=PROFILE         ${profiles.join(' or ')} (default stock)
  --concurrency=N        scenarios side by side (default 3)
  --require=need,need    a missing need is a failure instead of "not applicable"
  --list                 say what there is and end
`;

export function parseOptions(args: readonly string[]): RunnerOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'control-plane': { type: 'string', default: controlPlaneNames[0]! },
      only: { type: 'string' },
      rbac: { type: 'string', default: 'stock' },
      concurrency: { type: 'string', default: '3' },
      require: { type: 'string' },
      list: { type: 'boolean', default: false },
    },
  });
  const concurrency = Number(values.concurrency);
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new Error(`--concurrency=${values.concurrency}: not a count`);
  return {
    controlPlane: oneOf('--control-plane', values['control-plane'], controlPlaneNames),
    only: listOf(values.only),
    rbac: oneOf('--rbac', values.rbac, profiles),
    concurrency,
    require: listOf(values.require) ?? [],
    list: values.list,
  };
}

export function select<S extends { readonly id: string }>(all: readonly S[], only: readonly string[] | undefined): S[] {
  if (only === undefined) return [...all];
  const chosen = all.filter(({ id }) =>
    only.some((wanted) => (wanted.endsWith('-') ? id.startsWith(wanted) : id === wanted)),
  );
  if (chosen.length === 0) throw new Error(`--only=${only.join(',')}: no such scenario`);
  return chosen;
}

function listOf(value: string | undefined): readonly string[] | undefined {
  return value?.split(',').filter((entry) => entry !== '');
}

function oneOf<T extends string>(flag: string, value: string, known: readonly T[]): T {
  const found = known.find((each) => each === value);
  if (found === undefined) throw new Error(`${flag}=${value}: not one of ${known.join(', ')}`);
  return found;
}
