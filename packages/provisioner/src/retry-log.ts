// SPDX-License-Identifier: Apache-2.0
/**
 * The line that the workers log before a retry, with upstream's words and the name of the object: a claim's queue key is its
 * UID, which no person knows. What was postponed is not an error.
 */
import type { Facts, Logger } from '@csi-sidecars/runtime';

export interface RetryLine {
  /** Upstream's: `Retrying syncing claim`. */
  readonly message: string;
  /** The object behind a queue key: `{ PVC: 'team/data' }`. */
  readonly subject: (key: string) => Facts;
}

/** Work that waits for something outside: no failure, although it is retried with the same backoff. */
export class Postponed extends Error {
  override readonly name = 'Postponed';
}

export function withRetryLine(logger: Logger, { message, subject }: RetryLine): Logger {
  return {
    enabled: (level) => logger.enabled(level),
    info: (level, text, facts) => logger.info(level, text, facts),
    warn: (text, facts) => logger.warn(text, facts),
    with: (facts) => withRetryLine(logger.with(facts), { message, subject }),
    error: (error, text, facts) => {
      const key = facts?.['key'];
      if (typeof key !== 'string') return logger.error(error, text, facts);
      const named = { ...subject(key), ...facts };
      // A defect keeps its own words.
      if (text !== failedText) return logger.error(error, text, named);
      if (error instanceof Postponed)
        return logger.info(2, `${message}: postponed`, { ...named, reason: error.message });
      return logger.error(error, message, named);
    },
  };
}

/** The workers' text for an outcome that is retried. */
const failedText = 'Reconcile failed, will retry';
