// SPDX-License-Identifier: Apache-2.0
/** What doctor finds of the load of leaders, with `--via-pod` only. */
import { expect, it } from 'vitest';
import { programs } from '../../../testing/workloads.ts';
import { doctor, seenIn } from '../../../testing/examining.ts';
import { leaders, type Says, served } from '../../../testing/leaders.ts';
import type { HttpAnswer } from '../../leader-answer/http.ts';
import type { AskPod } from '../../port-forward/pod-port.ts';

const queue = (oldestSeconds: number | null, running: number) => ({
  name: 'claims',
  depth: 40,
  running,
  workers: 10,
  oldestSeconds,
});

const flags = ['--via-pod', '--only=load'];
const examined = (says: Says, args: readonly string[] = []) => doctor(served(args), flags, { askPod: leaders(says) });

interface Requests {
  readonly waits?: number;
  readonly seconds?: number;
  readonly answers?: number;
  readonly tooMany?: number;
}

/** The metrics of a client of Kubernetes, in two verbs and two codes beside 429. */
function metricsOf({ waits = 0, seconds = 0, answers = 0, tooMany = 0 }: Requests): string {
  const waited = (part: string, value: number): readonly string[] => [
    `rest_client_rate_limiter_duration_seconds_${part}{host="10.0.0.1:443",verb="GET"} ${value / 4}`,
    `rest_client_rate_limiter_duration_seconds_${part}{host="10.0.0.1:443",verb="PATCH"} ${(value * 3) / 4}`,
  ];
  const counted = (code: string, value: number): string =>
    `rest_client_requests_total{code="${code}",host="10.0.0.1:443",method="GET"} ${value}`;
  return [
    '# TYPE rest_client_rate_limiter_duration_seconds histogram',
    'rest_client_rate_limiter_duration_seconds_bucket{host="10.0.0.1:443",verb="GET",le="0.005"} 100000',
    ...waited('sum', seconds),
    ...waited('count', waits),
    '# TYPE rest_client_requests_total counter',
    counted('200', (answers - tooMany) / 2),
    counted('404', (answers - tooMany) / 2),
    counted('429', tooMany),
    'rest_client_request_retries_total{code="429",verb="GET"} 100000',
    '',
  ].join('\n');
}

const measured = (requests: Requests) => examined({ metrics: { body: metricsOf(requests) } });

it('given keys that have waited for ten minutes, and workers that are all busy, when examined, then it finds warn load-2', async () => {
  const { found, document } = await examined({ queues: [queue(600, 10)] });
  // One for each program: all of them answer alike here.
  expect(new Set(found)).toEqual(new Set(['warn load-2']));
  expect(seenIn(document)).toEqual(expect.arrayContaining(['600 s', '10, 10']));
});

it.each([
  ['an idle worker', queue(600, 9)],
  ['keys that have just come', queue(2, 10)],
  ['no key', queue(null, 10)],
])('given a queue with %s, when examined, then nothing is found', async (_, each) => {
  expect((await examined({ queues: [each] })).found).toEqual([]);
});

it('given requests that have waited for half a second on average, when examined, then it finds warn load-2', async () => {
  const { code, found, document } = await measured({ waits: 100, seconds: 50 });
  expect([code, found]).toEqual([3, ['warn load-2']]);
  expect(document.findings[0]).toMatchObject({
    program: 'csi-resizer',
    sentence: 'the requests of csi-resizer of a.example.com have waited for its own limit, 0.5 s on average',
    mend: 'a higher --kube-api-qps and --kube-api-burst',
  });
  expect(seenIn(document)).toEqual(expect.arrayContaining(['50', '100']));
});

it('given one request in fifty that was answered with 429, when examined, then it finds warn load-2', async () => {
  const { code, found, document } = await measured({ answers: 500, tooMany: 10 });
  expect([code, found]).toEqual([3, ['warn load-2']]);
  expect(document.findings[0]?.sentence).toBe(
    'the API server has refused 10 of 500 requests of csi-resizer of a.example.com with 429',
  );
  expect(seenIn(document)).toEqual(expect.arrayContaining(['10', '500']));
});

it.each<readonly [title: string, requests: Requests]>([
  ['few requests that have waited long', { waits: 99, seconds: 990 }],
  ['many requests that have hardly waited', { waits: 1_000, seconds: 499 }],
  ['nine answers of code 429', { answers: 20, tooMany: 9 }],
  ['one answer in a hundred of code 429', { answers: 1_000, tooMany: 10 }],
  ['no request', {}],
])('given %s, when examined, then nothing is found', async (_, requests) => {
  expect((await measured(requests)).found).toEqual([]);
});

it.each<readonly [title: string, metrics: Partial<HttpAnswer>, line: string]>([
  ['a port without metrics', { status: 404, body: '' }, 'it answers 404'],
  ['metrics that are JSON', { contentType: 'application/json', body: '{}' }, 'its metrics are no text'],
  ['a text that is none of metrics', { body: 'rest_client_requests_total{code="429"} 1000\n' }, 'its metrics are none'],
])('given %s, when examined, then one line says so, and nothing is found', async (_, metrics, line) => {
  const { code, found, host } = await examined({ metrics });
  expect([code, found]).toEqual([0, []]);
  // snapshot-controller serves no HTTP here.
  expect(
    host
      .logged()
      .split('\n')
      .filter((each) => each.includes('controller-7d9-x')),
  ).toEqual([`--via-pod: storage/controller-7d9-x:8082: ${line}`]);
});

it('given leaders of upstream, which answer no questions, when examined, then their metrics are read', async () => {
  const ours = leaders({ metrics: { body: metricsOf({ waits: 100, seconds: 500 }) } });
  const askPod: AskPod = async (target, path, asking) =>
    path === '/metrics' ? await ours(target, path, asking) : { status: 404, contentType: 'text/plain', body: '' };
  expect((await doctor(served(), flags, { askPod })).found).toEqual(['warn load-2']);
});

it.each([
  ['--metrics-path=/m/v1.txt', '/m/v1.txt'],
  ['--metrics-path=//other.example.com/m', '/metrics'],
  ['--metrics-path=/m?x=y', '/metrics'],
])('given %s, when examined, then metrics are read at %s, a page of at most a mebibyte', async (flag, metricsPath) => {
  const body = metricsOf({ waits: 100, seconds: 500 });
  const answer = leaders({ metrics: { body }, metricsPath });
  const most: (number | undefined)[] = [];
  const askPod: AskPod = async (target, path, asking) => {
    if (path === metricsPath) most.push(asking.mostBytes);
    return await answer(target, path, asking);
  };
  expect((await doctor(served([flag]), flags, { askPod })).found).toEqual(['warn load-2']);
  expect(most).toEqual(programs.map(() => 1_048_576));
});

it('given programs of one process, which have one port, when examined, then it is asked for its metrics once', async () => {
  const asked: string[] = [];
  const answer = leaders({ metrics: { body: metricsOf({ waits: 100, seconds: 500 }) } });
  const askPod: AskPod = async (target, path, asking) => {
    if (path === '/metrics') asked.push(path);
    return await answer({ ...target, port: 8_082 }, path, asking);
  };
  const { found } = await doctor(served(['--http-endpoint=:9000']), flags, { askPod });
  expect([asked, found]).toEqual([['/metrics'], ['warn load-2']]);
});
