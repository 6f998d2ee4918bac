// SPDX-License-Identifier: Apache-2.0
/** The names of checks. An id is never used for another check. */

export const severities = ['error', 'warn', 'info'] as const;
export type Severity = (typeof severities)[number];

export type CheckId = `${Part}-${number}`;
export type Part =
  | 'rights'
  | 'driver'
  | 'lease'
  | 'pod'
  | 'crd'
  | 'topo'
  | 'class'
  | 'snap'
  | 'cap'
  | 'node'
  | 'stuck'
  | 'pop'
  | 'meta'
  | 'health'
  | 'load'
  | 'clock';
