// SPDX-License-Identifier: Apache-2.0
/**
 * Progress for a person: on a terminal the running step has a moving mark and its seconds, and is replaced by its result;
 * anywhere else each result is a plain line.
 */
import type { Clock } from '@csi-sidecars/runtime';

export interface Display {
  /** Shows the step while it runs, then what it returned; a failure is shown and thrown on. */
  step<T>(title: string, work: () => Promise<T>, describe: (result: T) => string): Promise<T>;
  line(text: string): void;
}

export interface Screen {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

const frames = ['-', '\\', '|', '/'];
const frameMs = 120;
const titleWidth = 26;

export function createDisplay(clock: Clock, screen: Screen): Display {
  const terminal = screen.isTTY === true;
  const seconds = (sinceMs: number): string => `${((clock.monotonicMs() - sinceMs) / 1000).toFixed(1)} s`;
  const result = (mark: string, title: string, text: string): void => {
    screen.write(`${terminal ? '\r\u001b[2K' : ''}${mark} ${title.padEnd(titleWidth)} ${text}\n`);
  };
  return {
    line: (text) => void screen.write(`${text}\n`),
    async step(title, work, describe) {
      const startedMs = clock.monotonicMs();
      using _ = terminal
        ? spin(clock, (frame) => screen.write(`\r\u001b[2K${frame} ${title.padEnd(titleWidth)} ${seconds(startedMs)}`))
        : none;
      try {
        const value = await work();
        result('ok    ', title, `${describe(value)} (${seconds(startedMs)})`);
        return value;
      } catch (error) {
        result('FAILED', title, `${error instanceof Error ? error.message : String(error)} (${seconds(startedMs)})`);
        throw error;
      }
    },
  };
}

const none: Disposable = { [Symbol.dispose]: () => undefined };

function spin(clock: Clock, draw: (frame: string) => void): Disposable {
  let count = 0;
  let timer = clock.timer(0, turn);
  function turn(): void {
    draw(`  ${frames[count++ % frames.length]}   `);
    timer = clock.timer(frameMs, turn);
  }
  return { [Symbol.dispose]: () => timer.cancel() };
}
