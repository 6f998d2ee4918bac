// SPDX-License-Identifier: Apache-2.0
/**
 * What a driver lists. Six methods are called and no others: GetPluginInfo, GetPluginCapabilities, ControllerGetCapabilities, ListVolumes,
 * ListSnapshots and ControllerGetVolume. None of them changes anything.
 */
import {
  type CsiCallOptions,
  type CsiChannel,
  CsiError,
  getControllerCapabilities,
  getDriverName,
  getPluginCapabilities,
  type ListedPage,
  listInto,
  type ListPorts,
} from '@csi-sidecars/csi';
import {
  type Answer,
  type Collector,
  type DriverList,
  type ListedSnapshot,
  type ListedVolume,
  snapshotCollector,
  volumeCollector,
} from '@csi-sidecars/volume';
import type { AuditKind } from './audit-flags.ts';

export type Listed<E> =
  | { readonly kind: 'listed'; readonly list: DriverList<E>; readonly incomplete: string | undefined }
  /** `because` is a sentence. */
  | { readonly kind: 'notRun'; readonly because: string };

export interface DriverLists {
  readonly driver: string;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly volumes: Listed<ListedVolume>;
  readonly hasPublishedNodes: boolean;
  readonly snapshots: Listed<ListedSnapshot>;
}

export interface DriverSource {
  /** As the driver says it. */
  readonly name: string;
  /** Rejects if the driver refuses a list. The time is that of the API server. */
  readonly lists: (ports: ListPorts) => Promise<DriverLists>;
  /** Undefined: the driver cannot be asked for one volume. */
  readonly askVolume: Ask | undefined;
  readonly askSnapshot: Ask | undefined;
}

interface Half<P extends ListedPage, E> {
  readonly capability: string;
  readonly collector: Collector<P, E>;
  readonly request: (token: string, options: CsiCallOptions) => Promise<P>;
}

/** Why a half is not listed that `--kinds` leaves out. */
export const notAsked = 'it is not in --kinds';

/** Undefined: the answer does not say. */
export type Ask = (handle: string, signal: AbortSignal) => Promise<Answer | undefined>;

export interface SourceOptions {
  readonly kinds: ReadonlySet<AuditKind>;
  readonly pageSize: number;
  /** Of each call, in milliseconds. */
  readonly timeoutMs: number;
}

/** Asks for the name and the capabilities. */
export async function driverSource(
  channel: CsiChannel,
  { kinds, pageSize, timeoutMs }: SourceOptions,
  signal: AbortSignal,
): Promise<DriverSource> {
  const start = { timeoutMs, signal };
  const name = await getDriverName(channel, start);
  const plugin = await getPluginCapabilities(channel, start);
  const capabilities = plugin.has('CONTROLLER_SERVICE')
    ? await getControllerCapabilities(channel, start)
    : new Set<string>();
  const hasPublishedNodes = capabilities.has('LIST_VOLUMES_PUBLISHED_NODES');

  async function half<P extends ListedPage, E>(
    { capability, collector, request }: Half<P, E>,
    ports: ListPorts,
  ): Promise<Listed<E>> {
    if (!capabilities.has(capability)) return { kind: 'notRun', because: `the driver does not have ${capability}` };
    const page = (token: string): Promise<P> => request(token, { timeoutMs, signal: ports.signal });
    return { kind: 'listed', ...(await listInto(collector, page, ports)) };
  }

  const pageOf = (token: string): { readonly max_entries: number; readonly starting_token: string } => ({
    max_entries: pageSize,
    starting_token: token,
  });
  const volumes = async (ports: ListPorts): Promise<Listed<ListedVolume>> =>
    kinds.has('volumes') || kinds.has('attachments')
      ? await half(
          {
            capability: 'LIST_VOLUMES',
            collector: volumeCollector(hasPublishedNodes ? 'published nodes' : 'none'),
            request: (token, options) => channel.call('/csi.v1.Controller/ListVolumes', pageOf(token), options),
          },
          ports,
        )
      : { kind: 'notRun', because: notAsked };
  const snapshots = async (ports: ListPorts): Promise<Listed<ListedSnapshot>> =>
    kinds.has('snapshots')
      ? await half(
          {
            capability: 'LIST_SNAPSHOTS',
            collector: snapshotCollector(),
            request: (token, options) => channel.call('/csi.v1.Controller/ListSnapshots', pageOf(token), options),
          },
          ports,
        )
      : { kind: 'notRun', because: notAsked };

  return {
    name,
    lists: async (ports) => {
      const startedMs = ports.nowMs();
      // Volumes first: a snapshot is younger than its source.
      const listed = { volumes: await volumes(ports), snapshots: await snapshots(ports) };
      return { driver: name, startedMs, endedMs: ports.nowMs(), hasPublishedNodes, ...listed };
    },
    askVolume: capabilities.has('GET_VOLUME')
      ? (handle, stop) =>
          answerOf(stop, async () => {
            const request = { volume_id: handle };
            await channel.call('/csi.v1.Controller/ControllerGetVolume', request, { timeoutMs, signal: stop });
            return 'exists';
          })
      : undefined,
    askSnapshot: (handle, stop) =>
      answerOf(stop, async () => {
        const request = { snapshot_id: handle };
        const { entries } = await channel.call('/csi.v1.Controller/ListSnapshots', request, {
          timeoutMs,
          signal: stop,
        });
        return entries.some(({ snapshot }) => snapshot?.snapshot_id === handle) ? 'exists' : 'notFound';
      }),
  };
}

async function answerOf(signal: AbortSignal, ask: () => Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await ask();
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CsiError)) throw error;
    return error.code === 'NotFound' ? 'notFound' : undefined;
  }
}
