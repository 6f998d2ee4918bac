// SPDX-License-Identifier: Apache-2.0
/** The value of the header `grpc-timeout`: at most eight digits and a unit. */
export function timeoutText(timeoutMs: number): string {
  const ms = Math.max(Math.ceil(timeoutMs), 0);
  return ms < 1e8 ? `${ms}m` : `${Math.min(Math.ceil(ms / 1000), 99_999_999)}S`;
}
