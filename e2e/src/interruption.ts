// SPDX-License-Identifier: Apache-2.0
/**
 * Ctrl-C and its relatives as an AbortSignal, so that everything that was started is stopped in order. A second one does
 * not wait: the process exits, and its children are killed on the way out.
 */
export function onInterrupt(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(130);
      process.stderr.write(`${name}: stopping; again to kill\n`);
      controller.abort(new Interrupted(name));
    });
  }
  return controller.signal;
}

export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  constructor(signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`);
  }
}
