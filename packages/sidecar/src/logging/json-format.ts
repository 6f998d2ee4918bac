// SPDX-License-Identifier: Apache-2.0
/**
 * The JSON format of component-base: `ts` (milliseconds), `caller`, `msg`, then `v` for info lines or `err` for errors, then
 * the facts. pino serialises; it is imported here and nowhere else, and this file only when the format is asked for.
 */
import { pino } from 'pino';
import { jsonOf, type LogEntry, type LogOrigin } from '@csi-sidecars/runtime/internal';

export function createJsonFormat(origin: LogOrigin): (entry: LogEntry) => string {
  let line = '';
  let timeMs = 0;
  const logger = pino(
    {
      base: null,
      messageKey: 'msg',
      timestamp: () => `,"ts":${timeMs}`,
      // pino computes this part once per level and puts it first: the place for what never changes.
      formatters: { level: () => ({ caller: `${origin.program}:0` }) },
      serializers: { err: (error: unknown) => (error instanceof Error ? error.message : error) },
    },
    { write: (text: string) => void (line = text) },
  );
  return (entry) => {
    ({ timeMs } = entry);
    const severity = entry.severity === 'error' ? { err: entry.error ?? null } : { v: entry.level };
    // A fact that pino could not serialise (a bigint, a cycle) must not cost the line.
    const facts = Object.fromEntries(
      Object.entries(entry.facts).map(([key, value]) => [
        key,
        typeof value === 'object' && value !== null ? safe(value) : plain(value),
      ]),
    );
    logger.info({ ...severity, ...facts }, entry.message);
    return line;
  };
}

function plain(value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

function safe(value: object): unknown {
  return JSON.parse(value instanceof Error ? JSON.stringify(value.message) : jsonOf(value));
}
