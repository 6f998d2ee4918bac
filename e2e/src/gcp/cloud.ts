// SPDX-License-Identifier: Apache-2.0
/** The GCE PD CSI driver over the fake cloud of its own tree (e2e/tools/gcp-pd-driver), and what is in that cloud. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CsiChannel } from '@csi-sidecars/csi';
import { readJournal } from '@csi-sidecars/test-driver';
import type { Recording } from '../driver/calls.ts';
import { openChannel } from '../nodes/mounting-node.ts';
import { supervise } from '../processes/supervised-process.ts';
import type { ScenarioContext } from '../scenarios/context.ts';
import { ensureTools } from '../tools/ensure-tools.ts';
import type { GcpManifests } from './manifests.ts';

/** Those of the fake cloud. */
export const zones = { first: 'country-region-zone', second: 'country-region-fakesecondzone' } as const;
export type Zone = (typeof zones)[keyof typeof zones];

/** As the node service of the driver writes it. */
export function nodeIdOf(zone: Zone, name: string): string {
  return `projects/test-project/zones/${zone}/instances/${name}`;
}

export interface CloudOptions {
  readonly instances: readonly { readonly zone: Zone; readonly name: string }[];
  /** How long it takes to create, attach and detach a disk; default: no time. */
  readonly operationsTake?: string;
}

export interface Disk {
  /** The volume handle. */
  readonly id: string;
  /** The node ids of the instances that have it. */
  readonly holders: readonly string[];
}

export interface Cloud extends Recording {
  readonly socket: string;
  readonly channel: CsiChannel;
  disks(): Promise<readonly Disk[]>;
  /** Ids of snapshots and images. */
  snapshots(): Promise<readonly string[]>;
}

const timeoutMs = 30_000;

export async function startCloud(
  ctx: ScenarioContext,
  manifests: GcpManifests,
  { instances, operationsTake = '0s' }: CloudOptions,
): Promise<Cloud> {
  const { 'gcp-pd-driver': command } = await ensureTools(['gcp-pd-driver'], { env: ctx.testRun.env });
  const socket = join(ctx.scratch, 'gcp.sock');
  const journal = join(ctx.folder, 'gcp-calls.jsonl');
  const args = [
    ...manifests.argsOf('gce-pd-driver', { socket, namespace: ctx.namespace }),
    // Disks do not name their holders in the fake cloud; instances name their disks.
    '--use-instance-api-to-list-volumes-published-nodes',
    `--drivername=${ctx.driverName}`,
    `--instances=${instances.map(({ zone, name }) => `${zone}/${name}`).join(',')}`,
    `--operations-take=${operationsTake}`,
    `--calls=${journal}`,
  ];
  const logFile = join(ctx.folder, 'gcp-pd-driver.log');
  ctx.cleanUp.use(await supervise({ name: 'gcp-pd-driver', command, args, logFile }, ctx.testRun.clock));
  await ctx.eventually(`the driver listens (${logFile})`, () => existsSync(socket));
  const channel = await openChannel(ctx, socket);
  const options = { timeoutMs, signal: ctx.signal };
  return {
    socket,
    channel,
    control: { calls: () => readJournal(journal) },
    disks: async () => {
      const { entries } = await channel.call('/csi.v1.Controller/ListVolumes', {}, options);
      return entries.map(({ volume, status }) => ({
        id: volume?.volume_id ?? '',
        holders: status?.published_node_ids ?? [],
      }));
    },
    snapshots: async () => {
      const { entries } = await channel.call('/csi.v1.Controller/ListSnapshots', {}, options);
      return entries.map(({ snapshot }) => snapshot?.snapshot_id ?? '');
    },
  };
}
