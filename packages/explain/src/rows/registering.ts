// SPDX-License-Identifier: Apache-2.0
/** Rows X43 and X44: the driver is not registered on the node of a pod. */
import { csiNodes, nodes, type Pod } from '@csi-sidecars/runtime';
import { driverOn } from '@csi-sidecars/volume';
import { nodePluginOf } from '../actors/node-plugin.ts';
import { valueOf } from '../cluster/reader.ts';
import { kubectl } from '../command/printable.ts';
import { objectName } from '../facts/objects.ts';
import type { NextCommand, Verdict } from '../verdict.ts';
import {
  change,
  type Context,
  describe,
  getYaml,
  onChange,
  recordedFailure,
  sinceCreated,
  verdictOf,
} from './context.ts';

export interface OnNode {
  readonly pod: Pod;
  readonly node: string;
  readonly driver: string;
}

/** Rows X43 and X44. Undefined: the driver is registered, or that is not known. */
export async function registration(context: Context, { pod, node, driver }: OnNode): Promise<Verdict | undefined> {
  const { reader } = context;
  const read = await reader.get(csiNodes, { name: node }, `whether the driver is registered on ${node}`);
  if (read.kind === 'unknown') return undefined;
  if (read.kind === 'found' && driverOn(read.value, driver) !== undefined) return undefined;
  const plugin = await nodePluginOf(reader, driver, node);
  const failure = await recordedFailure(context, objectName('Pod', pod), mountReasons);
  const shared = {
    node,
    failure,
    since: sinceCreated(pod),
    findings: ['node-1'],
    retry: onChange('when the driver is registered on the node'),
  };
  if (plugin.kind === 'ready') {
    const { namespace = '', name = '' } = plugin.pod.metadata ?? {};
    const argv = kubectl(['logs', '-n'], [namespace, name], ['-c', plugin.registrar ?? 'node-driver-registrar']);
    return verdictOf(
      ['X44', 4, 'administrator', 'register'],
      `pod ${name} of driver ${driver} is ready on ${node}, and kubelet does not know the driver: the folder of the registration socket, the socket, SELinux, or a second DaemonSet`,
      {
        ...shared,
        changes: [
          change('the paths of the registration, in the DaemonSet of the driver', { kind: 'Pod', namespace, name }),
        ],
        next: argv && { argv, sentence: 'what the registrar reports on that node' },
      },
    );
  }
  const where = await absence(context, { plugin, node, driver });
  return verdictOf(
    ['X43', 4, 'administrator', 'register'],
    `driver ${driver} is not registered on ${node}${where.why}`,
    {
      ...shared,
      changes: [change(`run the pod of the driver on ${node}`, { kind: 'Node', name: node })],
      next: where.next,
    },
  );
}

type Absence = { readonly plugin: Exclude<Awaited<ReturnType<typeof nodePluginOf>>, { kind: 'ready' }> } & Omit<
  OnNode,
  'pod'
>;

async function absence(
  context: Context,
  { plugin, node }: Absence,
): Promise<{ readonly why: string; readonly next: NextCommand | undefined }> {
  switch (plugin.kind) {
    case 'notReady': {
      const { namespace, name = '' } = plugin.pod.metadata ?? {};
      const events = await recordedFailure(context, objectName('Pod', plugin.pod), [
        'Failed',
        'FailedMount',
        'BackOff',
        'FailedCreatePodSandBox',
      ]);
      return {
        why: `: pod ${name} is not ready, ${events?.text ?? plugin.why}`,
        next: describe('pod', name, namespace),
      };
    }
    case 'none': {
      const read = await context.reader.get(nodes, { name: node }, `the taints of ${node}`);
      const taints =
        valueOf(read)
          ?.spec?.taints?.filter(({ effect }) => effect !== 'PreferNoSchedule')
          .map(({ key, effect }) => `${key}:${effect}`) ?? [];
      const tainted = taints.length === 0 ? '' : `; the node has taint ${taints.join(', ')}`;
      const sets =
        plugin.workloads.length === 0
          ? 'no DaemonSet of the driver was found'
          : `DaemonSet ${plugin.workloads.join(', ')} has no pod on it`;
      return { why: `: ${sets}${tainted}`, next: describe('node', node) };
    }
    case 'unknown':
      return { why: '', next: getYaml('csinode', node) };
  }
}

export const mountReasons: readonly string[] = ['FailedMount', 'FailedMapVolume', 'FailedAttachVolume'];
