// SPDX-License-Identifier: Apache-2.0
/** The connection of a command to a cluster: as the user of a kubeconfig, within time limits, and with its requests counted. */
import { type ApiClient, linkSignals, toError } from '@csi-sidecars/runtime';
import type { ProgramHost, Started } from '@csi-sidecars/sidecar';
import { meteredTransport } from '../cluster/layer.ts';
import { createReader, type Reader } from '../cluster/reader.ts';
import { type AskPod, askPodThrough } from '../port-forward/pod-port.ts';
import type { Cost } from '../report/explanation.ts';
import type { ClusterValues } from './cluster-flags.ts';
import { CommandError, exits } from './exit-codes.ts';

export interface Cluster extends AsyncDisposable {
  /** Of the first pass, with its time limit. */
  readonly reader: Reader;
  /** Another pass: nothing that was read counts, and the time limit begins again. */
  readonly pass: () => Pass;
  /** Of the context. */
  readonly namespace: string;
  readonly client: ApiClient;
  /** Through the API server, as the user of the command. */
  readonly askPod: AskPod;
  /** The time of the server. */
  readonly nowMs: () => number;
  readonly localOffsetMs: () => number;
  readonly cost: () => Cost;
  /** Aborts at the time limit of the first pass. */
  readonly signal: AbortSignal;
}

export interface Pass extends Disposable {
  readonly reader: Reader;
  /** Aborts at its time limit. */
  readonly signal: AbortSignal;
}

export interface OpenDeps {
  readonly host: ProgramHost;
  readonly signal: AbortSignal;
  readonly log: Started<ClusterValues, never>['log'];
}

/** Rejects with a CommandError if there is no usable configuration. Nothing is sent yet. */
export async function openCluster(
  { host, signal, log }: OpenDeps,
  values: ClusterValues,
  program: string,
): Promise<Cluster> {
  const { clock } = host;
  const { layer, identity, meter } = meteredTransport(clock, { user: values.as, group: values['as-group'] });
  const startedMs = clock.monotonicMs();
  const command = { context: values.context, layer };
  const { kubeconfig, qps, burst } = values;
  let api;
  try {
    api = await host.connectApi({ program, kubeconfig, master: '', qps, burst, log, command });
  } catch (error) {
    throw new CommandError(exits.failed, toError(error).message, { cause: error });
  }
  const { client, close, dial, namespace = '' } = api;
  const pass = (): Pass => {
    const linked = linkSignals([signal]);
    const timer = clock.timer(values.timeout, () =>
      linked.abort(new Error(`--timeout ${values.timeout / 1_000}s is over`)),
    );
    const requestTimeoutMs = values['request-timeout'];
    return {
      reader: createReader({ client, clock, meter, signal: linked.signal, requestTimeoutMs }),
      signal: linked.signal,
      [Symbol.dispose]: () => {
        timer.cancel();
        linked[Symbol.dispose]();
      },
    };
  };
  const first = pass();
  return {
    reader: first.reader,
    pass,
    namespace: namespace || 'default',
    signal: first.signal,
    client,
    askPod: askPodThrough(dial, identity),
    nowMs: first.reader.nowMs,
    localOffsetMs: () => -meter.serverAheadMs(),
    cost: () => ({
      requests: meter.requests(),
      bytes: meter.bytes(),
      seconds: Math.round(clock.monotonicMs() - startedMs) / 1_000,
    }),
    [Symbol.asyncDispose]: async () => {
      first[Symbol.dispose]();
      await close();
    },
  };
}
