// SPDX-License-Identifier: Apache-2.0
/** The command line of `npm run kubernetes-e2e --`. */
import { parseArgs } from 'node:util';
import { consentFlag } from '../control-planes/node/consent.ts';

export type Options =
  | {
      readonly kind: 'run';
      readonly set: 'base' | 'slow';
      /** Part of the names of the tests to run; empty: all of the set. */
      readonly only: string;
      readonly workers: number;
      readonly systemChanges: 'refused' | 'allowed';
    }
  /** Two reports of earlier runs. */
  | { readonly kind: 'compare'; readonly reports: readonly [string, string] };

export const usage: string = `usage: npm run kubernetes-e2e -- [options]
  --slow                  the slow tests instead of the base set
  --only=TEXT             only tests with this in their names
  --workers=N             tests side by side (default 3); they wait most of the time
  --compare=A,B           prints the tests that ended differently in two reports, and runs nothing
  ${consentFlag}  outside of CI: a kubelet may run here
UPSTREAM_BIN=<folder> runs upstream's programs in the place of ours.
`;

export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      slow: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      workers: { type: 'string', default: '3' },
      compare: { type: 'string' },
      'allow-system-changes': { type: 'boolean', default: false },
    },
  });
  if (values.compare !== undefined) {
    const [one, other, ...more] = values.compare.split(',');
    if (one === undefined || other === undefined || more.length > 0)
      throw new Error(`--compare=${values.compare}: not two reports`);
    return { kind: 'compare', reports: [one, other] };
  }
  const workers = Number(values.workers);
  if (!Number.isInteger(workers) || workers < 1) throw new Error(`--workers=${values.workers}: not a count`);
  return {
    kind: 'run',
    set: values.slow ? 'slow' : 'base',
    only: values.only,
    workers,
    systemChanges: values['allow-system-changes'] ? 'allowed' : 'refused',
  };
}
