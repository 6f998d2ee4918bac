// SPDX-License-Identifier: Apache-2.0
/** How upstream words a write that failed, wherever such a failure is reported. */
export function updateError(name: string, message: string): string {
  return `snapshot controller failed to update ${name} on API server: ${message}`;
}
