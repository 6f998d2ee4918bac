// SPDX-License-Identifier: Apache-2.0
/** Which keys a loop looks at, and when. */
import { aController, type Fixture, type FixtureOptions } from './controller-fixture.ts';

export interface ObservedFixture extends Fixture {
  /** The rows that the loop decided since the last look: `team/snap S4`. */
  readonly decided: () => readonly string[];
}

/** Without the default seed. */
export async function aControllerOf(queue: string, options: FixtureOptions): Promise<ObservedFixture> {
  const it = await aController({ seed: [], ...options });
  let seen = it.logger.lines.length;
  const decided = (): readonly string[] => {
    const lines = it.logger.lines.slice(seen);
    seen = it.logger.lines.length;
    return lines
      .filter(({ message, facts }) => message === 'Decided' && facts['queue'] === queue)
      .map(({ facts }) => `${String(facts['key'])} ${String(facts['row'])}`);
  };
  return { ...it, decided };
}
