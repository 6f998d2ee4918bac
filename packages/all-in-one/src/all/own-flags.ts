// SPDX-License-Identifier: Apache-2.0
/** Flags that belong to the process and to none of its controllers. */
import {
  boolFlag,
  durationFlag,
  type Flag,
  type Flags,
  type FlagsOf,
  stringFlag,
  uintFlag,
} from '@csi-sidecars/sidecar';

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

const noEffect = 'accepted for compatibility (a flag of klog); has no effect';

function ignored(flag: Flag<unknown>): Flag<unknown> {
  return { ...flag, hidden: true };
}

/** klog's flags from before its structured configuration, which upstream's combined program accepts. */
export const klogFlags: Flags = {
  add_dir_header: ignored(boolFlag(false, noEffect)),
  alsologtostderr: ignored(boolFlag(false, noEffect)),
  legacy_stderr_threshold_behavior: ignored(boolFlag(true, noEffect)),
  log_backtrace_at: ignored(stringFlag('', noEffect)),
  log_dir: ignored(stringFlag('', noEffect)),
  log_file: ignored(stringFlag('', noEffect)),
  log_file_max_size: ignored(uintFlag(1800, noEffect)),
  logtostderr: ignored(boolFlag(true, noEffect)),
  one_output: ignored(boolFlag(false, noEffect)),
  skip_headers: ignored(boolFlag(false, noEffect)),
  skip_log_headers: ignored(boolFlag(false, noEffect)),
  stderrthreshold: ignored(stringFlag('2', noEffect)),
};
