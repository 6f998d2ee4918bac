// SPDX-License-Identifier: Apache-2.0
/** The command line of `npm start --`. */
import { parseArgs } from 'node:util';

export const controlPlanes = ['sim', 'local', 'node', 'kubeconfig'] as const;

export interface DemoOptions {
  readonly controlPlane: (typeof controlPlanes)[number];
  /** The file of the user's own cluster; only with `--control-plane=kubeconfig`. */
  readonly kubeconfig: string | undefined;
  /** Do not ask before using the user's own cluster. */
  readonly consent: 'ask' | 'given';
  /** What happens to the cluster after the last step. */
  readonly afterwards: 'end' | 'keep';
  /** Whether a kubelet may run on this machine, outside of CI. */
  readonly systemChanges: 'refused' | 'allowed';
}

export const usage = `Shows the whole life of a volume: a claim, a pod that writes, attached, grown, snapshotted, restored with the same data, detached, deleted.
In your own cluster no pod takes part: a claim becomes a volume, grows, and goes again.

usage: npm start -- [options]
  --control-plane=sim          an embedded, simulated Kubernetes; needs nothing (default)
  --control-plane=local        a real etcd, kube-apiserver, controller manager and scheduler; needs Go once
  --control-plane=node         the same with a real containerd and kubelet: pods write and read (Linux, root)
  --allow-system-changes       with the above, outside of CI: Debian packages, mounts and cgroups on this machine
  --keep                       with sim or local: the cluster runs on until Ctrl-C, for kubectl
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
      'allow-system-changes': { type: 'boolean', default: false },
      yes: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
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
  if (values.keep && controlPlane !== 'sim' && controlPlane !== 'local') {
    throw new Error('--keep belongs to --control-plane=sim and local');
  }
  return {
    controlPlane,
    kubeconfig: values.kubeconfig,
    consent: values.yes ? 'given' : 'ask',
    afterwards: values.keep ? 'keep' : 'end',
    systemChanges: values['allow-system-changes'] ? 'allowed' : 'refused',
  };
}

/** What somebody may want to do after the demonstration. */
export function nextSteps({ controlPlane, afterwards }: DemoOptions): readonly string[] {
  const steps = [
    ...(controlPlane === 'sim' && afterwards === 'end'
      ? [['npm start -- --keep', 'leaves this cluster running, to look at it with kubectl']]
      : []),
    ...(controlPlane === 'sim'
      ? [['npm start -- --control-plane=local', 'the same on a real API server (needs Go once)']]
      : []),
    ['docs/operations/install.md', 'install a driver with these sidecars in a cluster'],
    ['docs/operations/swap-one-image.md', 'try one sidecar in a deployment that you have'],
  ];
  return ['', 'Next:', ...steps.map(([what = '', why]) => `  ${what.padEnd(36)} ${why}`)];
}
