// SPDX-License-Identifier: Apache-2.0
/** A client and informers without a controller around them: for tools, and for programs that have a main of their own. */
import type { ApiClient } from '../api/client.ts';
import type { KubeObject } from '../api/objects.ts';
import { withOutageLog } from '../api/outage-log.ts';
import { defaultSyncTimeoutMs, whenAllSynced } from '../informer/sync-limit.ts';
import type { InformerOptions } from '../informer/create-informer.ts';
import type { Informer } from '../informer/informer.ts';
import { keepAlive } from '../process/node-process.ts';
import { connections, type ConnectionOptions } from './connections.ts';
import { partsOf, type ProgramParts, type RunControllerOptions } from './options.ts';
import { listSettings } from './with-caches.ts';

export type OpenClusterOptions = ConnectionOptions &
  Partial<Omit<ProgramParts, 'elect' | 'process'>> &
  Pick<RunControllerOptions, 'syncTimeoutMs'>;

export interface OpenCluster extends AsyncDisposable {
  readonly client: ApiClient;
  /** The namespace of the kubeconfig's context; empty or undefined: it names none. */
  readonly namespace: string | undefined;
  /**
   * An informer that has synced, and follows the API server until the cluster is closed, whatever happens to its watch. The same options give the
   * same informer. Rejects if the cluster is closed first, or if nothing has arrived for `syncTimeoutMs`; the informer tries on, and may be asked for
   * again.
   */
  readonly watch: <T extends KubeObject>(options: InformerOptions<T>) => Promise<Informer<T>>;
}

/**
 * The process stays alive until the cluster is closed. Rejects for a configuration that cannot work. The first request opens the connection.
 */
export async function openCluster(options: OpenClusterOptions): Promise<OpenCluster> {
  const parts = partsOf(options);
  const { syncTimeoutMs: timeoutMs = defaultSyncTimeoutMs } = options;
  const { client, namespace, close } = await connections(parts, options)();
  const watching = { ...parts, client: withOutageLog(parts, client) };
  const informers = parts.createInformers({ ...watching, ...listSettings(parts.env) });
  const open = new AbortController();
  const alive = keepAlive(parts.clock);
  return {
    client,
    namespace,
    async watch(wanted) {
      const informer = informers.informer(wanted);
      // It rejects for a defect only, which must not stay hidden.
      void informers.start(open.signal);
      if (!(await whenAllSynced([informer], parts, { timeoutMs, signal: open.signal })))
        throw new Error('the cluster was closed');
      return informer;
    },
    async [Symbol.asyncDispose]() {
      open.abort(new Error('the cluster was closed'));
      await informers.shutdown();
      await close();
      alive[Symbol.dispose]();
    },
  };
}
