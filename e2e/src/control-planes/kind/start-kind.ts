// SPDX-License-Identifier: Apache-2.0
/**
 * Control plane `kind`: a cluster of one node in a container, with our images loaded. Needs Linux, root (the suite looks into the
 * node), a container engine and kind. The cluster and /var/lib/kubelet of this machine, which must be empty before, are removed at the end.
 * The kubeconfig of the user is not touched.
 */
import { execFile } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { writeImages } from '../../images/images.ts';
import { whereIs } from '../../images/machine-programs.ts';
import { forgetNodeBinaries } from '../../nodes/page-cache.ts';
import { Refusal } from '../../refusal.ts';
import { directTransport } from '../../suite-client/direct-transport.ts';
import { ensureTools } from '../../tools/ensure-tools.ts';
import type { Environment } from '../../tools/locate.ts';
import { isVolumeMount, type ControlPlane, type RealNode } from '../control-plane.ts';
import { writeKubeconfig } from '../kubeconfig.ts';
import { checkConsent } from '../node/machine.ts';
import { requestToken } from '../request-token.ts';
import { clusterConfiguration, credentialsOf, kubeletRoot, nodeNameOf, processesIn, mountsIn } from './cluster.ts';
import { abandonedCluster, claimFolder, removeFolder, thisMachine } from './kubelet-folder.ts';

export interface KindOptions {
  /** Logs and certificates; they stay. */
  readonly folder: string;
  /** `KIND_NODE_IMAGE` chooses the version of Kubernetes. */
  readonly env: Environment;
}

const run = promisify(execFile);

export async function startKind({ folder, env }: KindOptions): Promise<ControlPlane> {
  checkConsent(env);
  const { kind, engine } = findPrograms();
  // Scenarios deploy by the charts.
  await ensureTools(['helm']);
  await using opening = new AsyncDisposableStack();
  const work = mkdtempSync(join(tmpdir(), 'csi-kind-'));
  opening.defer(() => rmSync(work, { recursive: true, force: true }));
  const podLogs = join(work, 'pods');
  for (const path of [podLogs, folder]) mkdirSync(path, { recursive: true });
  const archive = join(work, 'images.tar');
  await writeImages(archive, env);

  const kubeconfigFile = join(work, 'kubeconfig');
  const remove = async (name: string): Promise<void> => {
    await run(kind, ['delete', 'cluster', '--name', name, '--kubeconfig', kubeconfigFile]);
  };
  const abandoned = abandonedCluster(kubeletRoot, thisMachine);
  if (abandoned !== undefined) {
    process.stderr.write(`kind: taking away what a run that was killed has left (cluster ${abandoned})\n`);
    await remove(abandoned);
    removeFolder(kubeletRoot, thisMachine);
  }
  const cluster = `csi-e2e-${process.pid}`;
  claimFolder(kubeletRoot, { pid: process.pid, cluster });
  opening.defer(() => removeFolder(kubeletRoot, thisMachine));
  const config = join(work, 'kind.json');
  const nodeImage = env['KIND_NODE_IMAGE'];
  writeFileSync(config, clusterConfiguration({ podLogs, ...(nodeImage !== undefined && { nodeImage }) }));
  opening.defer(async () => {
    await run(kind, ['export', 'logs', join(folder, 'logs'), '--name', cluster]).catch(() => undefined);
    await remove(cluster);
  });
  const create = ['create', 'cluster', '--name', cluster, '--kubeconfig', kubeconfigFile];
  await run(kind, [...create, '--config', config, '--wait', '120s']);
  await run(kind, ['load', 'image-archive', archive, '--name', cluster]);
  rmSync(archive);

  const { stdout: kubeconfig } = await run(kind, ['get', 'kubeconfig', '--name', cluster]);
  const { server, ca, cert, key } = credentialsOf(load(kubeconfig));
  const files = { ca: join(folder, 'ca.crt'), cert: join(folder, 'admin.crt'), key: join(folder, 'admin.key') };
  for (const [path, content] of [
    [files.ca, ca],
    [files.cert, cert],
    [files.key, key],
  ] as const)
    writeFileSync(path, content, { mode: 0o600 });
  const client = { certFile: files.cert, keyFile: files.key };
  const admin = directTransport({ server, caFile: files.ca, client });
  opening.defer(() => admin[Symbol.dispose]());
  const adminKubeconfig = writeKubeconfig(join(folder, 'admin.kubeconfig'), {
    server,
    caFile: files.ca,
    credentials: { kind: 'certificate', ...client },
  });

  const node = await nodeIn(engine, nodeNameOf(cluster), podLogs);
  const running = opening.move();
  return {
    name: 'kind',
    has: new Set([
      'rbac',
      'bound-tokens',
      'admission',
      'controller-manager',
      'scheduler',
      'kubelet',
      'kubelet-requests',
    ] as const),
    server,
    caFile: files.ca,
    serverPair: undefined,
    adminKubeconfig,
    admin: admin.transport,
    tokenFor: (account, options) => requestToken(admin.transport, account, options),
    audit: undefined,
    components: new Map(),
    compact: () => Promise.reject(new Error('the store of a kind cluster is not at hand')),
    node,
    logFiles: [],
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function nodeIn(engine: string, name: string, podLogs: string): Promise<RealNode> {
  const { stdout } = await run(engine, ['inspect', '--format', '{{.State.Pid}}', name]);
  const inNode = `/proc/${stdout.trim()}`;
  const mounts = (): readonly string[] => mountsIn(readFileSync(`${inNode}/mountinfo`, 'utf8'));
  return {
    name,
    kubeletRoot,
    podLogs,
    pathOf: (path) => `${inNode}/root${path}`,
    mounts,
    volumeMounts: () => mounts().filter(isVolumeMount),
    processesOf: (containerId) => processesIn(controlGroups(), containerId.replace('containerd://', '')),
    forgetImages: () => forgetNodeBinaries(`${inNode}/root/var/lib/containerd`),
  };
}

/** Everything is looked at before anything is touched. */
function findPrograms(): { readonly kind: string; readonly engine: string } {
  if (process.platform !== 'linux') throw new Refusal('control plane "kind" needs Linux');
  if (process.getuid?.() !== 0) throw new Refusal('control plane "kind" needs root, to look into its node');
  const kind = whereIs('kind');
  const engine = ['docker', 'podman'].map(whereIs).find((path) => path !== undefined);
  if (kind === undefined) throw new Refusal('control plane "kind" needs kind, and it is not in PATH');
  if (engine === undefined) throw new Refusal('control plane "kind" needs docker or podman, and none is in PATH');
  abandonedCluster(kubeletRoot, thisMachine);
  return { kind, engine };
}

function controlGroups(): ReadonlyMap<number, string> {
  return new Map(
    globSync('/proc/[0-9]*').flatMap((path) => {
      try {
        return [[Number(path.slice('/proc/'.length)), readFileSync(`${path}/cgroup`, 'utf8')] as const];
      } catch {
        return []; // gone in between
      }
    }),
  );
}
