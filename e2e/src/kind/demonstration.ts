// SPDX-License-Identifier: Apache-2.0
/**
 * A volume's life on a kind cluster, by nothing but commands of docker, kind, helm and kubectl, which is the one inside the cluster's node.
 * Nothing of this machine is shared with the cluster, and the user's kubeconfig is not touched.
 */
import { join } from 'node:path';
import type { Display } from '../demo/display.ts';
import { Refusal } from '../refusal.ts';
import type { Values } from '../deployment/values.ts';
import {
  claim,
  driverReference,
  driverName,
  driverValues,
  pod,
  snapshotControllerValues,
  snapshotOf,
  writeScript,
} from './objects.ts';

export const clusterName = 'csi-sidecars-demo';
const namespace = 'csi-demo';
const node = `${clusterName}-control-plane`;
const patience = '180s';

/** Resolves to what the command has written; rejects with what it has complained about. */
export type Run = (command: string, args: readonly string[], options?: RunOptions) => Promise<string>;

export interface RunOptions {
  readonly input?: string;
  /** It must run to its end, also after Ctrl-C. */
  readonly always?: boolean;
}

export interface KindDeps {
  readonly run: Run;
  readonly display: Display;
  readonly programs: { readonly docker: string; readonly kind: string; readonly helm: string };
  /** A folder for the files of the run. */
  readonly work: string;
  /** The folder of the charts. */
  readonly charts: string;
  /** The tag of our images. */
  readonly tag: string;
  /** kind's default if absent. */
  readonly nodeImage?: string;
  /** `keep`: the cluster stays. */
  readonly end: 'remove' | 'keep';
  readonly pause: (milliseconds: number) => Promise<unknown>;
  /** Writes our images for the architecture, as one archive. */
  writeImages(path: string, architecture: string): Promise<void>;
  /** Writes what the driver's image is built from. */
  writeDriver(folder: string): Promise<void>;
}

export async function demonstrate(deps: KindDeps): Promise<void> {
  const { run, display, programs, work, end } = deps;
  const { docker, kind } = programs;
  const { architecture, clusters } = await display.step(
    'container engine',
    async () => ({
      architecture: (await run(docker, ['version', '--format', '{{.Server.Arch}}'])).trim(),
      clusters: (await run(kind, ['get', 'clusters'])).split('\n'),
    }),
    (found) => `docker for linux/${found.architecture}`,
  );
  if (clusters.includes(clusterName)) {
    throw new Refusal(
      `the cluster ${clusterName} is there already, of a run that was killed or kept: kind delete cluster --name ${clusterName}`,
    );
  }
  const archive = join(work, 'images.tar');
  await display.step(
    'images',
    async () => {
      await deps.writeImages(archive, architecture);
      await deps.writeDriver(join(work, 'driver'));
      await run(docker, ['build', '--tag', driverReference, join(work, 'driver')]);
    },
    () => 'ours without docker, that of the driver by docker build',
  );
  const kubeconfig = join(work, 'kubeconfig');
  const ours = ['--name', clusterName, '--kubeconfig', kubeconfig];
  try {
    await display.step(
      'cluster',
      async () => {
        const image = deps.nodeImage === undefined ? [] : ['--image', deps.nodeImage];
        await run(kind, ['create', 'cluster', ...ours, ...image, '--wait', patience]);
        await run(kind, ['load', 'image-archive', archive, '--name', clusterName]);
        await run(kind, ['load', 'docker-image', driverReference, '--name', clusterName]);
        return /Server Version: (\S+)/.exec(await kubectl(deps, ['version']))?.[1];
      },
      (version) => `kind cluster ${clusterName}, Kubernetes ${version ?? ''}`,
    );
    await install(deps, kubeconfig);
    await showLife(deps);
    if (end === 'remove') await uninstall(deps, kubeconfig);
  } catch (error) {
    const logs = join(work, 'logs');
    // Without a cluster there are none.
    await run(kind, ['export', 'logs', logs, '--name', clusterName], { always: true }).then(
      () => display.line(`Logs of the cluster are in ${logs}.`),
      () => undefined,
    );
    throw error;
  } finally {
    if (end === 'remove') {
      await display.step(
        'clean-up',
        () => run(kind, ['delete', 'cluster', ...ours], { always: true }),
        () => `the cluster ${clusterName} is deleted`,
      );
    } else {
      display.line(`Look at it: export KUBECONFIG=${kubeconfig}; kubectl get pods -A`);
      display.line(`Delete it:  kind delete cluster --name ${clusterName}`);
    }
  }
}

/** Objects are JSON, which is YAML as well. */
function kubectl(
  { run, programs }: KindDeps,
  args: readonly string[],
  objects: readonly object[] = [],
): Promise<string> {
  const command = ['exec', '-i', node, 'kubectl', '--kubeconfig=/etc/kubernetes/admin.conf', ...args];
  const input = objects.map((object) => JSON.stringify(object)).join('\n---\n');
  return run(programs.docker, command, objects.length === 0 ? {} : { input });
}

interface HelmDeps extends Pick<KindDeps, 'run' | 'programs'> {
  readonly kubeconfig: string;
}

function helm({ run, programs, kubeconfig }: HelmDeps, args: readonly string[], options?: RunOptions): Promise<string> {
  return run(programs.helm, [...args, '--timeout', patience, '--kubeconfig', kubeconfig], options);
}

async function install(deps: KindDeps, kubeconfig: string): Promise<void> {
  const { display } = deps;
  const installed = async (release: string, chart: string, values: Values): Promise<void> => {
    const place = ['--namespace', release === 'demo' ? namespace : 'kube-system', '--create-namespace'];
    const args = ['upgrade', '--install', release, join(deps.charts, chart), ...place, '--values', '-', '--wait'];
    await helm({ ...deps, kubeconfig }, args, { input: JSON.stringify(values) });
  };
  await display.step(
    'snapshot-controller',
    () => installed('snapshot-controller', 'snapshot-controller', snapshotControllerValues(deps.tag)),
    () => 'helm upgrade --install snapshot-controller charts/snapshot-controller',
  );
  await display.step(
    'driver and sidecars',
    () => installed('demo', 'csi-driver', driverValues(deps.tag)),
    () => `${driverName}: helm upgrade --install demo charts/csi-driver`,
  );
  await display.step(
    'all of it works',
    () => helm({ ...deps, kubeconfig }, ['test', 'demo', '--namespace', namespace]),
    () => 'helm test demo: registered, leaders, metrics, a volume',
  );
}

async function showLife(deps: KindDeps): Promise<void> {
  const { display } = deps;
  const apply = (...objects: readonly object[]): Promise<string> => kubectl(deps, ['apply', '-f', '-'], objects);
  const until = (what: string, object: string): Promise<string> =>
    kubectl(deps, ['wait', `--for=${what}`, object, `--timeout=${patience}`]);
  const checksumOf = async (name: string): Promise<string> => {
    await until('condition=Ready', `pod/${name}`);
    const sum = /^[0-9a-f]{64}/m.exec(await kubectl(deps, ['logs', name]))?.[0];
    if (sum === undefined) throw new Error(`pod ${name} has not said a checksum`);
    return sum;
  };
  const written = await display.step(
    'claim, volume, pod',
    async () => {
      await apply(claim('data', '1Gi'), pod('writer', 'data', writeScript));
      return await checksumOf('writer');
    },
    (sum) => `pod writer wrote 16 MiB to a volume of 1Gi, sha256 ${sum.slice(0, 12)}`,
  );
  await display.step(
    'grown',
    async () => {
      await apply(claim('data', '2Gi'));
      await until('jsonpath={.status.capacity.storage}=2Gi', 'persistentvolumeclaim/data');
    },
    () => 'the claim has 2Gi, while the pod runs',
  );
  await display.step(
    'snapshot',
    async () => {
      await apply(snapshotOf('yesterday', 'data'));
      await until('jsonpath={.status.readyToUse}=true', 'volumesnapshot/yesterday');
    },
    () => 'VolumeSnapshot yesterday is ready',
  );
  await display.step(
    'restored',
    async () => {
      await apply(claim('restored', '2Gi', 'yesterday'), pod('reader', 'restored'));
      const read = await checksumOf('reader');
      if (read !== written) throw new Error(`pod reader has read ${read}, and ${written} was written`);
      return read;
    },
    (sum) => `pod reader read sha256 ${sum.slice(0, 12)} from a volume of the snapshot`,
  );
  if (deps.end === 'keep') return;
  await display.step(
    'deleted',
    async () => {
      await kubectl(deps, ['delete', 'pod/writer', 'pod/reader', `--timeout=${patience}`]);
      await kubectl(deps, ['delete', 'volumesnapshot/yesterday', `--timeout=${patience}`]);
      await kubectl(deps, [
        'delete',
        'persistentvolumeclaim/data',
        'persistentvolumeclaim/restored',
        `--timeout=${patience}`,
      ]);
      await untilNothingIsLeft(deps);
    },
    () => 'no PersistentVolume, VolumeAttachment or VolumeSnapshotContent is left',
  );
}

async function untilNothingIsLeft(deps: KindDeps): Promise<void> {
  let left = '';
  for (let attempt = 0; attempt < 60; attempt += 1) {
    left = (await kubectl(deps, ['get', 'pv,volumeattachments,volumesnapshotcontents', '--output=name'])).trim();
    if (left === '') return;
    await deps.pause(1000);
  }
  throw new Error(`this is left: ${left.replaceAll('\n', ', ')}`);
}

async function uninstall(deps: KindDeps, kubeconfig: string): Promise<void> {
  await deps.display.step(
    'uninstalled',
    async () => {
      for (const [release, from] of [
        ['demo', namespace],
        ['snapshot-controller', 'kube-system'],
      ] as const) {
        await helm({ ...deps, kubeconfig }, ['uninstall', release, '--namespace', from, '--wait']);
      }
    },
    () => 'helm uninstall demo, snapshot-controller',
  );
}
