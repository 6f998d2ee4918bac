// SPDX-License-Identifier: Apache-2.0
/** gRPC codes in Go spelling, a closed union: a new number arrives as `Code(n)`. Parsed at the border only. */
export const codeNames = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
] as const;

export type CodeName = (typeof codeNames)[number];
export type Code = CodeName | `Code(${number})`;

export function codeFromNumber(n: number): Code {
  return codeNames[n] ?? `Code(${n})`;
}

export function numberOfCode(code: Code): number {
  const known = (codeNames as readonly string[]).indexOf(code);
  return known >= 0 ? known : Number.parseInt(code.slice('Code('.length), 10);
}

/** A CSI call that did not succeed. `message` is `rpc error: code = <Name> desc = <text>`, as users know it from events. */
export class CsiError extends Error {
  override readonly name = 'CsiError';
  readonly code: Exclude<Code, 'OK'>;
  readonly method: string;
  readonly detail: string;
  /** The driver did what was asked and said so, but its answer could not be decoded: the code is the client's, not its. */
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
