// SPDX-License-Identifier: Apache-2.0
/** Part load: leaders with more work than they can do. Without `--via-pod` they are not asked, and nothing is found. */
import { type Check, clusterCheck, factOf, type Judgement, problem } from '../check.ts';
import type { LeaderFacts, MeteredFacts } from '../readings/leader-facts.ts';
import { ofDriver } from './wording.ts';

const oldSeconds = 300;

function slowQueues({ driver, program, pod, queues }: LeaderFacts): readonly Judgement[] {
  return queues
    .filter(
      ({ oldestSeconds, running, workers }) =>
        oldestSeconds !== null && oldestSeconds > oldSeconds && workers > 0 && running >= workers,
    )
    .map(({ name, depth, oldestSeconds, running, workers }) =>
      problem(`${depth} keys wait in queue ${name} of ${program}${ofDriver(driver)}, and all workers are busy`, {
        driver,
        program,
        objects: [],
        evidence: [
          factOf(`${program} of pod ${pod}`, `age of the oldest key of queue ${name}`, `${oldestSeconds} s`),
          factOf(`${program} of pod ${pod}`, `running, workers of queue ${name}`, `${running}, ${workers}`),
        ],
        mend: 'more workers (--worker-threads, --workers)',
      }),
    );
}

/** Fewer requests say nothing of a load. */
const leastRequests = 100;
const longWaitSeconds = 0.5;

function ownLimit({ driver, program, endpoint, limited: { count, seconds } }: MeteredFacts): readonly Judgement[] {
  const average = seconds / count;
  if (count < leastRequests || average < longWaitSeconds) return [];
  return [
    problem(
      `the requests of ${program}${ofDriver(driver)} have waited for its own limit, ${rounded(average)} s on average`,
      {
        driver,
        program,
        objects: [],
        evidence: [
          factOf(endpoint, 'rest_client_rate_limiter_duration_seconds_sum', rounded(seconds)),
          factOf(endpoint, 'rest_client_rate_limiter_duration_seconds_count', count),
        ],
        mend: 'a higher --kube-api-qps and --kube-api-burst',
      },
    ),
  ];
}

const leastRefused = 10;
const oftenRefused = 0.01;

function refusals({ driver, program, endpoint, answered: { count, tooMany } }: MeteredFacts): readonly Judgement[] {
  if (tooMany < leastRefused || tooMany / count <= oftenRefused) return [];
  return [
    problem(`the API server has refused ${tooMany} of ${count} requests of ${program}${ofDriver(driver)} with 429`, {
      driver,
      program,
      objects: [],
      evidence: [
        factOf(endpoint, 'rest_client_requests_total{code="429"}', tooMany),
        factOf(endpoint, 'rest_client_requests_total', count),
      ],
      look: ['kubectl', 'get', 'prioritylevelconfigurations'],
      mend: 'a priority level of its own for its service account, or a lower --kube-api-qps',
    }),
  ];
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

const overloaded: Check = clusterCheck({
  id: 'load-2',
  severity: 'warn',
  wrong:
    'with --via-pod: keys have waited for more than five minutes in a queue of a leader whose workers are all busy; or its requests have waited for its own limit, half a second on average; or the API server has refused one in a hundred of them (429)',
  mend: 'more workers (--worker-threads, --workers); a higher --kube-api-qps and --kube-api-burst; or a priority level of its own',
  causes: ['load-1'],
  reads: ['leaders', 'leading'],
  judge: ({ leaders }) => [
    ...leaders.said.flatMap(slowQueues),
    ...leaders.metered.flatMap((each) => [...ownLimit(each), ...refusals(each)]),
  ],
});

export const overloadChecks: readonly Check[] = [overloaded];
