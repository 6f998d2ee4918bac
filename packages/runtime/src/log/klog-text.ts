// SPDX-License-Identifier: Apache-2.0
/**
 * klog's text format, one line per call: `Lmmdd hh:mm:ss.uuuuuu <pid> <file>:<line>] "message" key="value"`. Times are
 * local, as klog's. The caller is the program, line 0: finding the real one would cost a stack trace per line, and programs that
 * read klog's format do not accept a header without a number.
 */
import { goQuote } from './go-quote.ts';

export interface LogEntry {
  readonly severity: 'info' | 'warning' | 'error';
  readonly message: string;
  readonly error?: unknown;
  readonly facts: Readonly<Record<string, unknown>>;
  /** Milliseconds since the Unix epoch. */
  readonly timeMs: number;
}

export interface LogOrigin {
  readonly program: string;
  readonly pid: number;
}

const letters = { info: 'I', warning: 'W', error: 'E' } as const;

export function klogTextLine(entry: LogEntry, origin: LogOrigin): string {
  const header = `${letters[entry.severity]}${klogTime(entry.timeMs)} ${String(origin.pid).padStart(7)} ${origin.program}:0] `;
  const error = entry.error === undefined ? '' : ` err=${klogValue(entry.error)}`;
  let facts = '';
  for (const key of Object.keys(entry.facts)) facts += ` ${key}=${klogValue(entry.facts[key])}`;
  return `${header}${goQuote(entry.message)}${error}${facts}\n`;
}

function klogTime(timeMs: number): string {
  const time = new Date(timeMs);
  const two = (value: number): string => String(value).padStart(2, '0');
  const micros = String(Math.floor((timeMs * 1_000) % 1_000_000)).padStart(6, '0');
  return `${two(time.getMonth() + 1)}${two(time.getDate())} ${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.${micros}`;
}

/** Strings and errors are quoted, numbers and booleans are not, structures are JSON, several lines are indented by a tab. */
function klogValue(value: unknown): string {
  const text =
    value instanceof Error ? value.message : value instanceof Uint8Array ? Buffer.from(value).toString() : value;
  if (typeof text === 'string') return text.includes('\n') ? `<\n${indent(text)} >` : goQuote(text);
  if (text === undefined || text === null) return 'null';
  if (typeof text === 'number' || typeof text === 'boolean' || typeof text === 'bigint') return String(text);
  return jsonOf(text);
}

function indent(text: string): string {
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => `\t${line}\n`)
    .join('');
}

/** The JSON of a fact. Integers beyond 2^53 keep their digits. Cycles and getters that throw are replaced by a note. */
export function jsonOf(value: unknown): string {
  try {
    const text: string | undefined = JSON.stringify(value, (_key, item: unknown) => {
      if (typeof item === 'bigint') return String(item);
      if (item instanceof Error) return item.message;
      return item;
    });
    return text ?? 'null';
  } catch (cause) {
    return JSON.stringify(`<<not serialisable: ${String(cause)}>>`);
  }
}
