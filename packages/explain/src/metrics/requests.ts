// SPDX-License-Identifier: Apache-2.0
/** What a program has measured of its requests to the API server since it started: by the names of Kubernetes' own clients. */
import { seriesOf } from './series.ts';

export interface RequestFacts {
  /** Requests that have passed the limit of the client (`rest_client_rate_limiter_duration_seconds`), and how long all of them have waited there. */
  readonly limited: { readonly count: number; readonly seconds: number };
  /** Answers of the API server (`rest_client_requests_total`), and those of code 429. Retries count. */
  readonly answered: { readonly count: number; readonly tooMany: number };
}

const limiter = 'rest_client_rate_limiter_duration_seconds';

/** Zeros: the program does not measure its requests, as most sidecars. Undefined: the text is none of metrics. */
export function requestsOf(text: string): RequestFacts | undefined {
  if (!/^# TYPE /m.test(text)) return undefined;
  const sums = { seconds: 0, waits: 0, answers: 0, tooMany: 0 };
  for (const line of text.split('\n')) {
    const series = line.startsWith('rest_client_r') ? seriesOf(line) : undefined;
    if (series === undefined) continue;
    const { name, labels, value } = series;
    if (name === `${limiter}_sum`) sums.seconds += value;
    if (name === `${limiter}_count`) sums.waits += value;
    if (name !== 'rest_client_requests_total') continue;
    sums.answers += value;
    if (labels.get('code') === '429') sums.tooMany += value;
  }
  return {
    limited: { count: sums.waits, seconds: sums.seconds },
    answered: { count: sums.answers, tooMany: sums.tooMany },
  };
}
