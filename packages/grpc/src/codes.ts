// SPDX-License-Identifier: Apache-2.0
/** gRPC codes in Go's spelling, a closed union: a number without a name is `Code(n)`. Parsed at the border only. */
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
