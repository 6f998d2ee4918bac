// SPDX-License-Identifier: Apache-2.0
/**
 * The logging port. A message is constant, the facts are key/value pairs, the level is klog's (0 always .. 5 debug).
 * The level check comes before any formatting: pass values, never preformatted text.
 */
export interface Logger {
  enabled(level: number): boolean;
  info(level: number, message: string, facts?: Facts): void;
  warn(message: string, facts?: Facts): void;
  /** `error` may be undefined when there is a message but no cause. */
  error(error: unknown, message: string, facts?: Facts): void;
  /** A logger that adds these facts to every line. */
  with(facts: Facts): Logger;
}

export type Facts = Readonly<Record<string, unknown>>;

export const silentLogger: Logger = {
  enabled: () => false,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => silentLogger,
};
