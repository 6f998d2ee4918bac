// SPDX-License-Identifier: Apache-2.0
/** containerd of the node: its own folders and socket, runc with cgroupfs, no network but loopback, no registry. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pauseImage } from '../../images/images.ts';
import type { ComponentPlan } from '../local/components.ts';
import { host } from '../local/layout.ts';
import { writePodNetwork } from './pod-network.ts';

export interface ContainerdOptions {
  readonly work: string;
  /** The address of its metrics, which answer once it serves. */
  readonly port: number;
  readonly shim: string;
  readonly runc: string;
}

export function containerdSocket(work: string): string {
  return join(work, 'containerd.sock');
}

export function containerdPlan(options: ContainerdOptions): ComponentPlan {
  const { work, port } = options;
  const cni = join(work, 'cni');
  writePodNetwork(cni);
  const config = join(work, 'containerd.toml');
  writeFileSync(config, configOf(options, cni));
  return { name: 'containerd', args: [`--config=${config}`], ready: { url: `http://${host}:${port}/v1/metrics` } };
}

function configOf({ work, port, shim, runc }: ContainerdOptions, cni: string): string {
  const text = JSON.stringify;
  return `version = 3
root = ${text(join(work, 'containerd'))}
state = ${text(join(work, 'containerd-state'))}

[grpc]
address = ${text(containerdSocket(work))}

[metrics]
address = "${host}:${port}"

[plugins."io.containerd.cri.v1.images"]
snapshotter = "overlayfs"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = ${text(pauseImage)}

[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = [${text(cni)}]
conf_dir = ${text(cni)}

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
runtime_path = ${text(shim)}

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = false
BinaryName = ${text(runc)}
Root = ${text(join(work, 'runc'))}

[plugins."io.containerd.shim.v1.manager"]
socket_dir = ${text(join(work, 's'))}
`;
}

export interface Import {
  readonly ctr: string;
  readonly work: string;
  readonly archive: string;
}

/** Into the namespace that kubelet looks in. */
export async function importImages({ ctr, work, archive }: Import): Promise<void> {
  const address = ['--address', containerdSocket(work), '--namespace', 'k8s.io'];
  await promisify(execFile)(ctr, [...address, 'images', 'import', archive]);
}
