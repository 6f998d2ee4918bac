// SPDX-License-Identifier: Apache-2.0
/** metav1.Time: whole seconds. */
export function timestamp(nowMs: number): string {
  return new Date(nowMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
