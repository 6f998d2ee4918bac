// SPDX-License-Identifier: Apache-2.0
/**
 * What the leaders of our programs say of their driver and of their queues, and what leaders, upstream's too, have measured of their requests. They
 * are asked with `--via-pod` only.
 */
import type { Question } from '../../actors/leader.ts';
import { viaPodRule } from '../../command/rbac.ts';
import { askController, type ViaPorts } from '../../leader-answer/ask.ts';
import { answerOf, type Endpoint, metricsAnswer } from '../../leader-answer/endpoint.ts';
import { requestsOf } from '../../metrics/requests.ts';
import type { Leading } from './facts.ts';
import type { LeaderFacts, Leaders, MeteredFacts } from './leader-facts.ts';
import { eachOf, type Gathering, isRead, type Source, value } from './source.ts';

export const leaderSource: Source<Leaders> = {
  rights: viaPodRule.resources.flatMap((resource) => viaPodRule.verbs.map((verb) => `${verb} ${resource}`)),
  async read(gathering) {
    const { via } = gathering;
    if (via === undefined) return value({ isAsked: false, said: [], metered: [] });
    const leading = await gathering.get('leading');
    if (!isRead(leading)) return leading;
    const live = leading.value.filter(({ leader }) => leader?.kind === 'lives');
    const said = await eachOf(live, (each) => saidBy(each, via, gathering));
    const metered = await meteredBy(live, via, gathering);
    return value({ isAsked: true, said: said.filter((each) => each !== undefined), metered });
  },
};

type Asking = Pick<Gathering, 'reader' | 'scope'>;

function questionOf({ driver, program }: Leading, { scope }: Asking): Question {
  return { program, driver: driver ?? '', namespace: scope.namespace };
}

async function saidBy(leading: Leading, via: ViaPorts, asking: Asking): Promise<LeaderFacts | undefined> {
  const { driver, program } = leading;
  const answer = await askController(via, { reader: asking.reader, ...questionOf(leading, asking) });
  const served = answer?.driver?.name;
  // A leader that serves another driver is not that of this one.
  const isOther = driver !== undefined && served !== undefined && served !== driver;
  if (answer === undefined || isOther) return undefined;
  const { pod, queues, driver: known } = answer;
  return { driver, program, pod: pod ?? '', capabilities: known?.capabilities, queues };
}

/** Programs of one process have one port: it is asked once. */
async function meteredBy(live: readonly Leading[], via: ViaPorts, asking: Asking): Promise<readonly MeteredFacts[]> {
  const ports = new Map<string, Pick<Leading, 'driver' | 'program'> & { readonly endpoint: Endpoint }>();
  for (const leading of live) {
    const { driver, program } = leading;
    for (const endpoint of await via.endpoints(asking.reader, questionOf(leading, asking)))
      if (!ports.has(endpoint.name)) ports.set(endpoint.name, { driver, program, endpoint });
  }
  const metered = await eachOf([...ports.values()], async ({ endpoint, ...facts }) => {
    const asked = { path: endpoint.metricsPath, parse: requestsOf, kind: metricsAnswer };
    const requests = await answerOf(via, endpoint, asked);
    return requests && { ...facts, ...requests, endpoint: endpoint.name };
  });
  return metered.filter((each) => each !== undefined);
}
