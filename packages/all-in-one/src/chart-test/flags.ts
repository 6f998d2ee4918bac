// SPDX-License-Identifier: Apache-2.0
/** Command line of `csi-sidecars chart-test`, which the test hook of chart csi-driver runs. What is not given is not looked at. */
import { durationFlag, loggingFlags, type LoggingValues, type ProgramFlags, stringFlag } from '@csi-sidecars/sidecar';

export interface ChartTestValues extends LoggingValues {
  readonly kubeconfig: string;
  readonly 'driver-name': string;
  readonly namespace: string;
  readonly 'node-namespace': string;
  readonly 'node-pods': string;
  readonly leases: string;
  readonly 'metrics-endpoints': string;
  readonly data: string;
  /** Milliseconds. */
  readonly timeout: number;
}

export const chartTestProgram: ProgramFlags<ChartTestValues> = {
  name: 'csi-sidecars chart-test',
  syntax: 'go',
  gates: {},
  flags: {
    ...loggingFlags,
    kubeconfig: stringFlag('', 'Absolute path to the kubeconfig file. Required only when running out of cluster.'),
    'driver-name': stringFlag('', 'Name of the driver, whose CSIDriver object must exist. Required.'),
    namespace: stringFlag('', 'Namespace of the Leases. Required with --leases.'),
    'node-namespace': stringFlag('', 'Namespace of the pods of --node-pods.'),
    'node-pods': {
      ...stringFlag(
        '',
        "Labels of the driver's pods on nodes: all must be ready, and kubelet must have registered the driver on their nodes.",
      ),
      brief: "Labels of the driver's pods on nodes, which must be ready and registered.",
    },
    leases: stringFlag('', 'Names of Leases, separated by commas, that must be held and renewed.'),
    'metrics-endpoints': stringFlag('', 'URLs, separated by commas, that must serve metrics.'),
    data: stringFlag('', 'Folder of a volume of the driver, to which a file is written and from which it is read.'),
    timeout: durationFlag(5 * 60_000, 'How long to wait until everything is as it should be.'),
  },
};
