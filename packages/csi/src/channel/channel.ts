// SPDX-License-Identifier: Apache-2.0
/**
 * The CSI port: one unary call to the driver. Real: grpc-js over a unix socket; simulated: a driver model in process.
 * Errors: `CsiError` with the code of the closed union. A deadline yields `DeadlineExceeded`, an aborted signal
 * `Canceled`; neither says that the driver stopped working on it (CSI: the operation goes on).
 */
import type { Method, RequestOf, ResponseOf } from '../methods.ts';

export interface CsiChannel {
  call<M extends Method>(method: M, request: RequestOf<M>, options: CsiCallOptions): Promise<ResponseOf<M>>;
  /** Aborts when the connection, once ready, was lost and is not to be renewed. Callers that must not outlive it watch this. */
  readonly lost: AbortSignal;
  readonly close: () => void;
}

export interface CsiCallOptions {
  /** Time limit of this call. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Value of the metric label `migrated`, where the metrics have one: the volume belongs to an in-tree plugin. */
  readonly migrated?: boolean | undefined;
}
