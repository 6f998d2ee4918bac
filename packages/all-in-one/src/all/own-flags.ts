// SPDX-License-Identifier: Apache-2.0
/** Flags that belong to the process and to none of its controllers. */
import { durationFlag, type FlagsOf, stringFlag } from '@csi-sidecars/sidecar';

export interface OwnValues {
  readonly controllers: string;
  /** Milliseconds. */
  readonly 'shutdown-timeout': number;
  readonly 'controller-failure': string;
}

export const ownFlags: FlagsOf<OwnValues> = {
  controllers: stringFlag('', 'Names of the controllers to run, separated by commas. Required.'),
  'shutdown-timeout': durationFlag(25_000, 'Time from the first signal to the end, whatever still runs.'),
  'controller-failure': {
    ...stringFlag(
      'restart',
      'After the failure of a controller: restart (it alone starts again, after a pause) or exit (the process ends with 1).',
    ),
    brief: 'After the failure of a controller: restart (it alone) or exit (the process).',
  },
};
