// SPDX-License-Identifier: Apache-2.0
/** What the leaders of our programs say of their driver and of their queues. They are asked with `--via-pod` only. */
import { viaPodRule } from '../../command/rbac.ts';
import { askController } from '../../leader-answer/ask.ts';
import type { LeaderFacts, Leaders } from './facts.ts';
import { eachOf, isRead, type Source, value } from './source.ts';

export const leaderSource: Source<Leaders> = {
  rights: viaPodRule.resources.flatMap((resource) => viaPodRule.verbs.map((verb) => `${verb} ${resource}`)),
  async read(gathering) {
    const { reader, scope, via } = gathering;
    if (via === undefined) return value({ isAsked: false, said: [] });
    const leading = await gathering.get('leading');
    if (!isRead(leading)) return leading;
    const live = leading.value.filter(({ leader }) => leader?.kind === 'lives');
    const said = await eachOf(live, async ({ driver, program }): Promise<LeaderFacts | undefined> => {
      const question = { program, driver: driver ?? '', namespace: scope.namespace };
      const answer = await askController(via, { reader, ...question });
      const served = answer?.driver?.name;
      // A leader that serves another driver is not that of this one.
      const isOther = driver !== undefined && served !== undefined && served !== driver;
      if (answer === undefined || isOther) return undefined;
      const { pod, queues, driver: known } = answer;
      return { driver, program, pod: pod ?? '', capabilities: known?.capabilities, queues };
    });
    return value({ isAsked: true, said: said.filter((each) => each !== undefined) });
  },
};
