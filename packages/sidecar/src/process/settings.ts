// SPDX-License-Identifier: Apache-2.0
/** The flags of a command line as the readers of an endpoint may see them: those with another value than by default. */
import type { Flag, Flags } from '../flags/flag.ts';
import { formatGoDuration } from '../flags/go-duration.ts';

/** Where credentials are, or what may hold them. */
const unshown: ReadonlySet<string> = new Set(['kubeconfig', 'master', 'tracing-endpoint', 'tracing-headers-file']);

export function changedSettings(flags: Flags, values: object): Readonly<Record<string, string>> {
  const given = values as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(flags).flatMap(([name, flag]) => {
      const text = textOf(flag, given[name]);
      return unshown.has(name) || text === textOf(flag, flag.defaultValue) ? [] : [[name, text]];
    }),
  );
}

/** As on a command line. */
function textOf({ type }: Flag<unknown>, value: unknown): string {
  if (type === 'duration' && typeof value === 'number') return formatGoDuration(value);
  if (Array.isArray(value)) return value.map(String).join(',');
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'object' || value === null) return '';
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return entries.map(([name, each]) => `${String(name)}=${String(each)}`).join(',');
}
