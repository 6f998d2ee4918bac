// SPDX-License-Identifier: Apache-2.0
import { goUsageText, loggingFlags } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { chartTestProgram } from './flags.ts';

it('given --help, then each flag of its own has its type, its text and its default', async () => {
  const own = Object.entries(chartTestProgram.flags).filter(([name]) => !(name in loggingFlags));
  expect(await goUsageText(chartTestProgram.name, Object.fromEntries(own))).toBe(
    [
      'Usage of csi-sidecars chart-test:',
      '  -data string',
      '    \tFolder of a volume of the driver, to which a file is written and from which it is read.',
      '  -driver-name string',
      '    \tName of the driver, whose CSIDriver object must exist. Required.',
      '  -kubeconfig string',
      '    \tAbsolute path to the kubeconfig file. Required only when running out of cluster.',
      '  -leases string',
      '    \tNames of Leases, separated by commas, that must be held and renewed.',
      '  -metrics-endpoints string',
      '    \tURLs, separated by commas, that must serve metrics.',
      '  -namespace string',
      '    \tNamespace of the Leases. Required with --leases.',
      '  -node-namespace string',
      '    \tNamespace of the pods of --node-pods.',
      '  -node-pods string',
      "    \tLabels of the driver's pods on nodes: all must be ready, and kubelet must have registered the driver on their nodes.",
      '  -timeout duration',
      '    \tHow long to wait until everything is as it should be. (default 5m0s)',
      '',
    ].join('\n'),
  );
  expect(chartTestProgram.flags['node-pods'].brief).toBe(
    "Labels of the driver's pods on nodes, which must be ready and registered.",
  );
});
