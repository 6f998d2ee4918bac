// SPDX-License-Identifier: Apache-2.0
/**
 * Control plane `node`: `local`, and this machine as its node with real containerd, runc and kubelet, so that pods mount, write
 * and read. Needs root. Everything is in a work folder, a control group and a mount table of its own. At the end pods go first,
 * then kubelet, then containerd; then nothing may be left (a failure says what was), and what is left goes by force, also after a
 * start that failed half-way and at an exit in haste.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createApiClient, nodes, silentLogger, type ApiClient, type Clock } from '@csi-sidecars/runtime';
import type { Image } from '@csi-sidecars/images';
import { writeImages } from '../../images/images.ts';
import { whereIs } from '../../images/machine-programs.ts';
import type { ToolName } from '../../tools/catalogue.ts';
import { ensureTools } from '../../tools/ensure-tools.ts';
import type { Environment } from '../../tools/locate.ts';
import { eventually } from '../../eventually.ts';
import { forgetNodeBinaries } from '../../nodes/page-cache.ts';
import { isVolumeMount, type ControlPlane, type RealNode } from '../control-plane.ts';
import { createComponent, type LocalComponent } from '../local/component.ts';
import { loadArgs, type ComponentPlan } from '../local/components.ts';
import { freePorts } from '../local/free-ports.ts';
import { startLocal } from '../local/start-local.ts';
import { createCgroups } from './cgroups.ts';
import { containerdPlan, importImages } from './containerd.ts';
import { removePods } from './drain.ts';
import { kubeletPlan, kubeletRoot, podLogs } from './kubelet.ts';
import { noteKernelSettings } from './kernel-settings.ts';
import { checkConsent, checkMachine } from './machine.ts';
import { createPrivateMounts, type PrivateMounts } from './private-mounts.ts';
import { abandonedNodes, killAll, workFolderPrefix, leftoversOf, removeAll, type NodeResources } from './leftovers.ts';

export interface NodeOptions {
  readonly clock: Clock;
  /** Logs and certificates; they stay. */
  readonly folder: string;
  /** Whose programs are in the images, and whether this machine may be changed. */
  readonly env: Environment;
  /** Default: node-1. */
  readonly nodeName?: string;
  /** Beside those of every run. */
  readonly images?: readonly Image[];
}

type NodeTool = Extract<ToolName, 'kubelet' | 'containerd' | 'containerd-shim-runc-v2' | 'ctr' | 'helm'>;
/** helm is for the scenarios, which deploy by the charts. */
export const nodeTools: readonly NodeTool[] = ['kubelet', 'containerd', 'containerd-shim-runc-v2', 'ctr', 'helm'];
/** What the kernel needs to end killed processes. */
const hasteMs = 500;
const readyWithinMs = 60_000;

export async function startNode({
  clock,
  folder,
  env,
  nodeName = 'node-1',
  images = [],
}: NodeOptions): Promise<ControlPlane> {
  checkConsent(env);
  await removeAbandoned(clock);
  checkMachine();
  const tools = await ensureTools(nodeTools, { clock });
  await using opening = new AsyncDisposableStack();
  const local = opening.use(await startLocal({ clock, folder, extraArgs: loadArgs }));
  const api = createApiClient(
    { transport: local.admin, clock, logger: silentLogger },
    { userAgent: 'csi-sidecars-e2e', qps: -1, burst: 0 },
  );
  const { resources, mounts } = await openResources({ clock, folder }, opening);
  const { work, cgroups } = resources;
  const component = (plan: ComponentPlan, program: string): LocalComponent => {
    const [command, ...before] = [...cgroups.enter, ...mounts.enter, program];
    const logFile = join(folder, 'logs', `${plan.name}.log`);
    return createComponent({ ...plan, args: [...before, ...plan.args] }, { clock, command, logFile });
  };

  const { containerd: port, ...ports } = await freePorts(['containerd', 'kubelet', 'kubeletHealth']);
  const shim = tools['containerd-shim-runc-v2'];
  const containerd = component(containerdPlan({ work, port, shim, runc: whereIs('runc')! }), tools.containerd);
  opening.defer(() => containerd.stop());
  await containerd.start();
  const archive = join(work, 'images.tar');
  await writeImages(archive, env, images);
  await importImages({ ctr: tools.ctr, work, archive });

  const kubeconfig = local.kubeconfigFor('kubelet', {
    commonName: `system:node:${nodeName}`,
    organization: 'system:nodes',
  });
  const kubelet = component(
    kubeletPlan({ work, nodeName, kubeconfig, caFile: local.caFile!, cgroup: cgroups.name, ports }),
    tools.kubelet,
  );
  opening.defer(() => kubelet.stop());
  await kubelet.start();
  opening.defer(() => removePods(api, clock));
  await untilReady({ api, clock, nodeName, kubelet });

  const root = kubeletRoot(work);
  const mountsInRoot = (): readonly string[] => mounts.mounts().filter((path) => path.startsWith(`${root}/`));
  const node: RealNode = {
    name: nodeName,
    kubeletRoot: root,
    podLogs: podLogs(work),
    pathOf: (path) => mounts.pathOf(path),
    mounts: mountsInRoot,
    volumeMounts: () => mountsInRoot().filter(isVolumeMount),
    processesOf: (containerId) => cgroups.processesOf(containerId.replace('containerd://', '')),
    forgetImages: () => forgetNodeBinaries(join(work, 'containerd')),
  };
  const running = opening.move();
  return {
    ...local,
    name: 'node',
    has: new Set([...local.has, 'kubelet' as const, 'node-control' as const]),
    node,
    logFiles: [...local.logFiles, containerd.logFile, kubelet.logFile],
    components: new Map([...local.components, ['containerd', containerd], ['kubelet', kubelet]]),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Folder, control group and mount table; together they are all that can be left. */
async function openResources(
  { clock, folder }: Pick<NodeOptions, 'clock' | 'folder'>,
  stack: AsyncDisposableStack,
): Promise<{ readonly resources: NodeResources; readonly mounts: PrivateMounts }> {
  const work = mkdtempSync(join(tmpdir(), workFolderPrefix(process.pid)));
  noteKernelSettings(work);
  const resources: NodeResources = { work, cgroups: createCgroups(basename(work)) };
  const inHaste = (): void => removeInHaste(resources);
  process.on('exit', inHaste);
  stack.defer(async () => {
    await removeByForce(resources, clock);
    process.off('exit', inHaste);
    const left = [...leftoversOf(resources), ...resources.cgroups.folders()];
    if (left.length > 0) throw new Error(`the node could not be taken away:\n${left.join('\n')}`);
  });
  const logFile = join(folder, 'logs', 'mounts.log');
  const mounts = await createPrivateMounts({ clock, work, logFile, before: resources.cgroups.enter });
  stack.defer(async () => {
    const left = mounts.mounts();
    await mounts.close();
    // Only the holder of this mount table was still running.
    const leftovers = [...left.map((path) => `mount ${path}`), ...leftoversOf(resources)];
    if (leftovers.length > 0) throw new Error(`the node left behind:\n${leftovers.join('\n')}`);
  });
  return { resources, mounts };
}

/** While this process exits: nothing can be waited for, and what cannot be had now is for the next run. */
function removeInHaste(resources: NodeResources): void {
  killAll(resources);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, hasteMs);
  try {
    removeAll(resources);
  } catch {
    process.stderr.write(`node: something is left in ${resources.work}; the next run removes it\n`);
  }
}

async function removeAbandoned(clock: Clock): Promise<void> {
  for (const abandoned of abandonedNodes()) {
    process.stderr.write(`node: taking away what a run that was killed has left (${abandoned.work})\n`);
    await removeByForce(abandoned, clock);
  }
}

async function removeByForce(resources: NodeResources, clock: Clock): Promise<void> {
  const patience = { clock, factor: 1, signal: new AbortController().signal };
  await eventually(patience, {
    what: `the processes below ${resources.cgroups.name} are gone`,
    check: () => {
      killAll(resources);
      return resources.cgroups.processes().length === 0;
    },
  });
  removeAll(resources);
}

interface Readiness {
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly nodeName: string;
  readonly kubelet: LocalComponent;
}

async function untilReady({ api, clock, nodeName, kubelet }: Readiness): Promise<void> {
  const patience = { clock, factor: 1, signal: new AbortController().signal };
  await eventually(patience, {
    what: `node ${nodeName} is Ready (${kubelet.logFile} says why)`,
    timeoutMs: readyWithinMs,
    check: async () => {
      const { status } = await api.get(nodes, { name: nodeName });
      return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True');
    },
  });
}
