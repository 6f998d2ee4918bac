// SPDX-License-Identifier: Apache-2.0
/** The flags that explain and doctor share with kubectl, and the limits of a command that reads. */
import {
  boolFlag,
  durationFlag,
  type FlagsOf,
  floatFlag,
  inGroup,
  intFlag,
  loggingFlags,
  type LoggingValues,
  rare,
  stringFlag,
  versionFlag,
} from '@csi-sidecars/sidecar';

export interface ClusterValues extends LoggingValues {
  readonly version: boolean;
  readonly kubeconfig: string;
  readonly context: string;
  readonly as: string;
  readonly 'as-group': string;
  /** Milliseconds, of one request. */
  readonly 'request-timeout': number;
  /** Milliseconds, of the whole command; with `--watch` of each pass. */
  readonly timeout: number;
  readonly qps: number;
  readonly burst: number;
  readonly 'exit-zero': boolean;
}

export const clusterFlags: FlagsOf<ClusterValues> = {
  ...loggingFlags,
  version: versionFlag,
  ...inGroup('API server', {
    kubeconfig: stringFlag(
      '',
      'Path to the kubeconfig file. Default: $KUBECONFIG, ~/.kube/config, the service account.',
    ),
    context: stringFlag('', 'The context of the kubeconfig. Default: the current one.'),
    as: stringFlag('', 'The user to impersonate.'),
    'as-group': stringFlag('', 'The group to impersonate. One group.'),
    'request-timeout': durationFlag(10_000, 'The time limit of a request.'),
    timeout: durationFlag(30_000, 'The time limit of the whole command; with --watch of each pass.'),
    qps: rare(floatFlag(20, 'Requests to the API server in a second; negative: no limit.')),
    burst: rare(intFlag(40, 'Requests to the API server at once.')),
  }),
  'exit-zero': boolFlag(false, 'End with 0 in place of 3, 4 and 5.'),
};
