// SPDX-License-Identifier: Apache-2.0
import type { Code } from '@csi-sidecars/grpc';

/** A CSI call that did not succeed. `message` is `rpc error: code = <Name> desc = <text>`, which users know from events. */
export class CsiError extends Error {
  override readonly name = 'CsiError';
  readonly code: Exclude<Code, 'OK'>;
  readonly method: string;
  readonly detail: string;
  /** The driver executed the call and answered, but its answer could not be decoded: the code is the client's. */
  readonly isUnreadable: boolean;
  constructor(
    facts: { code: Exclude<Code, 'OK'>; method: string; detail: string; isUnreadable?: boolean },
    options?: ErrorOptions,
  ) {
    super(`rpc error: code = ${facts.code} desc = ${facts.detail}`, options);
    this.code = facts.code;
    this.method = facts.method;
    this.detail = facts.detail;
    this.isUnreadable = facts.isUnreadable ?? false;
  }
}
