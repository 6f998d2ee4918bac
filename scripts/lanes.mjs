// SPDX-License-Identifier: Apache-2.0
/**
 * Runs suites side by side, so many at a time. A suite begins when those that it names in `after` have ended; one that is `alone` runs
 * beside no other. Resolves when all have ended.
 */
export async function runInLanes(suites, lanes, run) {
  const waiting = [...suites];
  const running = new Map();
  const mayBegin = ({ alone, after = [] }) => {
    if (running.size > 0 && (alone || [...running.keys()].some((suite) => suite.alone))) return false;
    return ![...waiting, ...running.keys()].some(({ name }) => after.includes(name));
  };
  while (waiting.length + running.size > 0) {
    const next = running.size < lanes ? waiting.find(mayBegin) : undefined;
    if (next === undefined) {
      if (running.size === 0)
        throw new Error(`these wait for each other: ${waiting.map(({ name }) => name).join(', ')}`);
      await Promise.race(running.values());
      continue;
    }
    waiting.splice(waiting.indexOf(next), 1);
    running.set(
      next,
      run(next).finally(() => running.delete(next)),
    );
  }
}
