// SPDX-License-Identifier: Apache-2.0
/**
 * The JSON format of component-base: `ts` (milliseconds), `caller`, `msg`, then `v` for info lines or `err` for errors, then
 * the facts. All of it is pino's: klog's verbosities are its levels, derived loggers its children, the line writer its destination.
 * pino is imported here and nowhere else, and this file only when the format is asked for.
 */
import type { Facts, Logger } from '@csi-sidecars/runtime';
import { jsonOf, type LoggerDeps, type LoggerOptions, presentable } from '@csi-sidecars/runtime/internal';
import { pino } from 'pino';

/** From 0 to 10. All of klog's levels above mean the same as the last: everything is logged. */
const levelCount = 11;
type Verbosity = `v${number}`;

/** pino's levels grow with importance, klog's with detail. Its own levels for warnings and errors stay. */
const levels: Readonly<Record<Verbosity, number>> = Object.fromEntries(
  Array.from({ length: levelCount }, (_, level) => [levelOf(level), pino.levels.values['info']! - level]),
);

function levelOf(verbosity: number): Verbosity {
  return `v${Math.min(verbosity, levelCount - 1)}`;
}

export function createJsonLogger({ nowMs, write }: LoggerDeps, { program, verbosity }: LoggerOptions): Logger {
  const root = pino<Verbosity>(
    {
      base: null,
      customLevels: levels,
      level: levelOf(levelCount),
      timestamp: () => `,"ts":${nowMs()}`,
      formatters: {
        level: (label) => ({ caller: `${program}:0`, ...(label === 'error' ? {} : { v: verbosityOf(label) }) }),
      },
    },
    { write },
  );
  return onPino(root, verbosity);
}

/** A warning is an info line of level 0 here: component-base has no third kind. */
function verbosityOf(label: string): number {
  return label.startsWith('v') ? Number(label.slice(1)) : 0;
}

function onPino(log: pino.Logger<Verbosity>, verbosity: number): Logger {
  return {
    enabled: (level) => level <= verbosity,
    info(level, message, facts = {}) {
      if (level <= verbosity) log[levelOf(level)]!(shown(facts), message);
    },
    warn: (message, facts = {}) => log.warn(shown(facts), message),
    error: (error, message, facts = {}) => log.error(shown({ err: error ?? null, ...facts }), message),
    with: (facts) => onPino(log.child(shown(facts)), verbosity),
  };
}

/** A fact that JSON cannot represent (a bigint, a cycle) must not prevent the line. */
function shown(facts: Facts): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(presentable(facts)).map(([key, value]) => [
      key,
      typeof value === 'string' ? value : (JSON.parse(jsonOf(value)) as unknown),
    ]),
  );
}
