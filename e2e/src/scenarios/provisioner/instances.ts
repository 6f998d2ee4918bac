// SPDX-License-Identifier: Apache-2.0
/** A csi-provisioner beside the driver on each of three emulated nodes, each node with a segment of its own. */
import { type CSIDriver, type PersistentVolume, persistentVolumeClaims, type Pod, pods } from '@csi-sidecars/runtime';
import { stubDriver } from '@csi-sidecars/sim';
import { addEmulatedNode } from '../../nodes/emulated-node.ts';
import type { SupervisedProcess } from '../../processes/supervised-process.ts';
import type { ScenarioContext } from '../context.ts';

export const nodeKey = 'topology.e2e.csi.test/node';
export const selectedNode = 'volume.kubernetes.io/selected-node';
const shortWaits = ['--node-deployment-base-delay=500ms', '--node-deployment-max-delay=2s'];
/** Polls every other second, and may write as often as it likes. */
const publishing = [
  '--enable-capacity',
  '--capacity-ownerref-level=0',
  '--capacity-poll-interval=2s',
  '--kube-api-capacity-qps=50',
  '--kube-api-capacity-burst=50',
];

export interface InstancesOptions {
  /** Arguments of every instance in addition. */
  readonly args?: readonly string[];
  /** The size of the pool on each node, in GiB. Default: space has no limit. */
  readonly gib?: readonly [number, number, number];
  /** `published`: each instance publishes the capacity of its node, owned by its Pod. Default: not published. */
  readonly capacity?: 'published';
  readonly csiDriver?: Partial<CSIDriver['spec']>;
}

export interface Instances {
  readonly names: readonly [string, string, string];
  readonly programs: ReadonlyMap<string, SupervisedProcess>;
  /** Starts another instance on a node, in a Pod of this name, which has to exist. */
  readonly startOn: (name: string, podName: string) => Promise<SupervisedProcess>;
}

export async function startInstances(ctx: ScenarioContext, options: InstancesOptions = {}): Promise<Instances> {
  const { args = [], gib, capacity, csiDriver } = options;
  const names = [ctx.nameOf('a'), ctx.nameOf('b'), ctx.nameOf('c')] as const;
  for (const name of names) {
    const driver = stubDriver(ctx.driverName, { nodeId: name, topology: { [nodeKey]: name } });
    await addEmulatedNode(ctx, { name, driver });
  }
  const nodes = names.map((id) => ({ id, segments: { [nodeKey]: id }, maxVolumes: 0 }));
  const pools = (gib ?? []).map((size, index) => ({
    kind: 'local',
    totalBytes: BigInt(size) << 30n,
    segments: nodes[index]?.segments,
  }));
  await ctx.startDriver({ nodes: names, settings: { nodes, pools }, ...(csiDriver !== undefined && { csiDriver }) });
  const startOn = (name: string, podName: string): Promise<SupervisedProcess> =>
    ctx.startProvisioner({
      args: [
        '--node-deployment',
        '--strict-topology',
        '--immediate-topology=false',
        '--kube-api-qps=50',
        '--kube-api-burst=100',
        ...shortWaits,
        ...(capacity === 'published' ? publishing : []),
        ...args,
      ],
      env: { NODE_NAME: name, NAMESPACE: ctx.namespace, POD_NAME: podName },
      replica: name,
      socket: ctx.driver.socketOf(name),
    });
  const programs = new Map<string, SupervisedProcess>();
  for (const name of names) {
    if (capacity === 'published') await createPodOf(ctx, podNameOf(name));
    programs.set(name, await startOn(name, podNameOf(name)));
  }
  return { names, programs, startOn };
}

export function podNameOf(nodeName: string): string {
  return `provisioner-on-${nodeName}`;
}

/** The Pod in which an instance would run: no scheduler touches it. */
export async function createPodOf(ctx: ScenarioContext, name: string): Promise<Pod> {
  const spec: Pod['spec'] = { schedulerName: 'none', containers: [{ name: 'main', image: 'none' }] };
  return await ctx.create(pods, { metadata: { name }, spec });
}

/** The node from which a volume can be reached. */
export function nodeOf(volume: PersistentVolume | undefined): string | undefined {
  const [term] = volume?.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  return term?.matchExpressions?.find(({ key }) => key === nodeKey)?.values?.[0];
}

/** As kube-scheduler does for the first pod of a claim. */
export async function selectNode(ctx: ScenarioContext, name: string, node: string): Promise<void> {
  const target = { resource: persistentVolumeClaims, ref: { namespace: ctx.namespace, name } };
  await ctx.api.patch(target, { type: 'merge', body: { metadata: { annotations: { [selectedNode]: node } } } });
}
