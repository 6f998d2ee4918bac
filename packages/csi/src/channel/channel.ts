// SPDX-License-Identifier: Apache-2.0
/**
 * The CSI port: one unary call to the driver. The real one is grpc-js over a unix socket; the simulated one is a driver model in the same process.
 * Errors: `CsiError` with the code of the closed union. A deadline yields `DeadlineExceeded`, an aborted signal
 * `Canceled`; in both cases the driver may still be working on the call (CSI: the operation continues).
 */
import type { CallParent } from '@csi-sidecars/runtime';
import type { Method, RequestOf, ResponseOf } from '../methods.ts';

export interface CsiChannel {
  call<M extends Method>(method: M, request: RequestOf<M>, options: CsiCallOptions): Promise<ResponseOf<M>>;
  /** Aborts when a connection that was ready is lost and will not be renewed. Callers that must not outlive it watch this signal. */
  readonly lost: AbortSignal;
  readonly close: () => void;
}

export interface CsiCallOptions {
  /** Time limit of this call. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Value of the metric label `migrated`, if the metrics have it: whether the volume belongs to an in-tree plugin. */
  readonly migrated?: boolean | undefined;
  /** The run that calls. The call becomes a span below it, and the driver gets its trace context. Default: neither. */
  readonly span?: CallParent | undefined;
}
