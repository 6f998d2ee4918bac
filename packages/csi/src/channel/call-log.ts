// SPDX-License-Identifier: Apache-2.0
/** The two log lines of a call at level 5, without secrets. Below that level nothing is formatted. */
import type { Logger } from '@csi-sidecars/runtime';
import type { CsiError } from '../csi-error.ts';
import type { Method, RequestOf, ResponseOf } from '../methods.ts';
import type { Sanitizer } from '../sanitizer/sanitizer.ts';
import type { ExchangeOutcome } from './exchange.ts';

export interface CallLog {
  called<M extends Method>(method: M, request: RequestOf<M>): void;
  ended<M extends Method>(method: M, outcome: ExchangeOutcome<M>): void;
}

const level = 5;

export interface CallLogDeps {
  readonly log: Logger;
  /** For the types of the methods that are called. */
  readonly sanitizer: Sanitizer;
}

/** @param maxResponseBytes longer responses are cut; zero or less disables cutting. Requests are never cut. */
export function callLog({ log, sanitizer }: CallLogDeps, maxResponseBytes: number): CallLog {
  return {
    called: (method, request) => {
      if (!log.enabled(level)) return;
      log.info(level, 'GRPC call', { method, request: sanitizer.request(method, request) });
    },
    ended: (method, outcome) => {
      if (!log.enabled(level)) return;
      const [response, err] = factsOf(sanitizer, method, outcome);
      log.info(level, 'GRPC response', { response: cut(response, maxResponseBytes), err });
    },
  };
}

function factsOf<M extends Method>(
  sanitizer: Sanitizer,
  method: M,
  outcome: ExchangeOutcome<M>,
): readonly [string, CsiError | null] {
  if (outcome.kind === 'failed') return ['{}', outcome.error];
  const response: ResponseOf<M> = outcome.response;
  return [sanitizer.response(method, response), null];
}

function cut(json: string, maxBytes: number): string {
  const bytes = Buffer.from(json);
  if (maxBytes <= 0 || bytes.length <= maxBytes) return json;
  return `${bytes.subarray(0, maxBytes).toString()} [response body too large, log capped to ${maxBytes} chars]`;
}
