// SPDX-License-Identifier: Apache-2.0
/**
 * Runs suites side by side, so many at a time; one that `waits` most of its time takes no lane. A suite begins when those that it names in
 * `after` have ended. Those with the same `alone` run beside each other and beside no others. Resolves when all have ended.
 */
export async function runInLanes(suites, lanes, run) {
  const waiting = [...suites];
  const running = new Map();
  const mayBegin = ({ alone, waits, after = [] }) => {
    if ([...running.keys()].some((suite) => suite.alone !== alone)) return false;
    if (!waits && [...running.keys()].filter((suite) => !suite.waits).length >= lanes) return false;
    return ![...waiting, ...running.keys()].some(({ name }) => after.includes(name));
  };
  while (waiting.length + running.size > 0) {
    const next = waiting.find(mayBegin);
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
