// SPDX-License-Identifier: Apache-2.0
/** The command line of `npm start --`. */
import { parseArgs } from 'node:util';

export const controlPlanes = ['sim', 'local', 'kubeconfig'] as const;

export interface DemoOptions {
  readonly controlPlane: (typeof controlPlanes)[number];
  /** The file of the user's own cluster; only with `--control-plane=kubeconfig`. */
  readonly kubeconfig: string | undefined;
  /** Do not ask before using the user's own cluster. */
  readonly consent: 'ask' | 'given';
}

export const usage = `Shows the main job: a claim becomes a bound volume through csi-provisioner, and both go again.

usage: npm start -- [options]
  --control-plane=sim          an embedded, simulated Kubernetes; needs nothing (default)
  --control-plane=local        a real etcd, kube-apiserver, controller manager and scheduler; needs Go once
  --control-plane=kubeconfig   your own cluster; shows context and server and asks first
  --kubeconfig=FILE            with the above: this file instead of KUBECONFIG or ~/.kube/config
  --yes                        with the above: do not ask
  --help

An exported KUBECONFIG alone is never used.
`;

export function parseDemoOptions(args: readonly string[]): DemoOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'control-plane': { type: 'string', default: 'sim' },
      kubeconfig: { type: 'string' },
      yes: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false, short: 'h' },
    },
  });
  if (values.help) return 'help';
  const controlPlane = controlPlanes.find((name) => name === values['control-plane']);
  if (controlPlane === undefined) {
    throw new Error(`--control-plane=${values['control-plane']}: not one of ${controlPlanes.join(', ')}`);
  }
  if (controlPlane !== 'kubeconfig' && (values.kubeconfig !== undefined || values.yes)) {
    throw new Error('--kubeconfig and --yes belong to --control-plane=kubeconfig');
  }
  return { controlPlane, kubeconfig: values.kubeconfig, consent: values.yes ? 'given' : 'ask' };
}
