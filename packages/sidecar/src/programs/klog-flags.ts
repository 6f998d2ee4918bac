// SPDX-License-Identifier: Apache-2.0
import { boolFlag, stringFlag, uintFlag, type Flag, type Flags } from '../flags/flag.ts';

const noEffect = 'accepted for compatibility (a flag of klog); has no effect';

function ignored(flag: Flag<unknown>): Flag<unknown> {
  return { ...flag, hidden: true };
}

/** klog's flags from before its structured configuration, which some of upstream's programs accept. */
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
