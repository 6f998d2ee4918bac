// SPDX-License-Identifier: Apache-2.0
/** Times in the formats of the API. */

/** metav1.Time: seconds. */
export function toTime(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
}

/** metav1.MicroTime: exactly six digits. */
export function toMicroTime(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 23)}000Z`;
}
