// SPDX-License-Identifier: Apache-2.0
/** metav1.Time: whole seconds. */
export function timestamp(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, -'.000Z'.length)}Z`;
}
