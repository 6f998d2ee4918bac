// SPDX-License-Identifier: Apache-2.0
/** The record of calls: which calls arrived, in which order, and how they ended. A begin is recorded before any effect. */
import type { CodeName, Method } from '@csi-sidecars/csi';

export interface IncomingCall {
  readonly method: Method;
  /** As decoded from the wire. */
  readonly request: object;
  readonly peer: string;
  readonly nodeId: string;
  /** True once its connection is closed. */
  readonly isGone?: () => boolean;
}

export type Outcome =
  | { readonly kind: 'answered'; readonly response: object }
  | { readonly kind: 'refused'; readonly code: Exclude<CodeName, 'OK'>; readonly message: string }
  /** The caller never got an answer. */
  | { readonly kind: 'interrupted'; readonly by: 'drop' | 'crash' };

export interface RecordedCall extends IncomingCall {
  readonly seq: number;
  readonly beganAtMs: number;
  readonly endedAtMs: number | undefined;
  /** Undefined while the call runs, and for ever if the driver died during it. */
  readonly outcome: Outcome | undefined;
}

export interface Journal {
  /** Resolves when the line is durable; the number gives the order of calls. */
  begin(call: IncomingCall): Promise<number>;
  end(seq: number, outcome: Outcome): Promise<void>;
}
