// SPDX-License-Identifier: Apache-2.0
import { goUsageText, klogFlags } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { ownFlags } from './own-flags.ts';

it('given --help, then each flag of the process has its text and its default', async () => {
  expect(await goUsageText('csi-sidecars', ownFlags)).toBe(
    [
      'Usage of csi-sidecars:',
      '  -controller-failure string',
      '    \tAfter the failure of a controller: restart (it alone starts again, after a pause) or exit (the process ends with 1). (default "restart")',
      '  -controllers string',
      '    \tNames of the controllers to run, separated by commas. Required.',
      '  -shutdown-timeout duration',
      '    \tTime from the first signal to the end, whatever still runs. (default 25s)',
      '',
    ].join('\n'),
  );
});

it('given the flags of klog, then they have its defaults, and are not listed', () => {
  const found = Object.entries(klogFlags);
  expect(found.map(([name, { type, defaultValue, hidden }]) => [name, type, defaultValue, hidden])).toEqual([
    ['add_dir_header', '', false, true],
    ['alsologtostderr', '', false, true],
    ['legacy_stderr_threshold_behavior', '', true, true],
    ['log_backtrace_at', 'string', '', true],
    ['log_dir', 'string', '', true],
    ['log_file', 'string', '', true],
    ['log_file_max_size', 'uint', 1800, true],
    ['logtostderr', '', true, true],
    ['one_output', '', false, true],
    ['skip_headers', '', false, true],
    ['skip_log_headers', '', false, true],
    ['stderrthreshold', 'string', '2', true],
  ]);
  const usages = new Set(found.map(([, { usage }]) => usage));
  expect([...usages]).toEqual(['accepted for compatibility (a flag of klog); has no effect']);
});

it('given the reaction to failures, then its text in a short list is shorter', () => {
  expect(ownFlags['controller-failure'].brief).toBe(
    'After the failure of a controller: restart (it alone) or exit (the process).',
  );
});
