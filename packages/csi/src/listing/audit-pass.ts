// SPDX-License-Identifier: Apache-2.0
/**
 * One pass of a periodic audit: what the driver lists, compared with the caches of a controller. It reads nothing from the API server, and
 * its calls are those of a list. What is compared, and by which rules, the controller passes in.
 */
import type { Clock, Logger, Random } from '@csi-sidecars/runtime';
import type { CsiCallOptions } from '../channel/channel.ts';
import type { AuditDesk, AuditedPass, PassFinding } from './audit-board.ts';
import type { AuditMetrics } from './audit-metrics.ts';
import { whenQuiet } from './count-calls.ts';
import { type ListCollector, listInto } from './list-into.ts';
import type { ListedPage } from './list-pages.ts';

/** What a pass gets from its controller. */
export interface AuditDeps {
  /** Calls of the other loops that are under way. */
  readonly underWay: () => number;
  /** Undefined: a pass is counted nowhere. */
  readonly metrics: AuditMetrics | undefined;
  /** Where the pass reports. Default: nowhere, and no pass can be asked for. */
  readonly desk?: AuditDesk | undefined;
  readonly settings: {
    readonly auditIntervalMs: number;
    /** Of one page. */
    readonly timeoutMs: number;
    readonly workerThreads: number;
  };
}

/** Of the loop that runs the pass. */
export interface PassPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface PassComparison {
  readonly findings: readonly PassFinding[];
  /** The list is so short that the driver seems to list a part. */
  readonly isSuspicious: boolean;
}

export interface AuditSpec<P extends ListedPage, L, C> {
  /** Completes "a part of its ...". */
  readonly listed: 'volumes' | 'snapshots';
  readonly page: (
    request: { readonly max_entries: number; readonly starting_token: string },
    options: CsiCallOptions,
  ) => Promise<P>;
  readonly collector: ListCollector<P, L>;
  /** In slices. Between two of them everything else in the process goes on. */
  readonly compare: (list: L) => Iterator<undefined, C>;
  /** The log line of a whole pass. */
  readonly compared: string;
  /** The name under which a log line names the object of a finding. */
  readonly object: 'PV' | 'content';
}

const pageSize = 500;
/** Instances that start together do not list together. */
const spread = 0.1;
/** Before a further page, and between two slices: a pass has time, and the other loops of the process hardly notice it. */
const pagePauseMs = 500;
const slicePauseMs = 20;

export const auditMessages = {
  found: 'The driver and the cluster differ',
  incomplete: 'The audit is not whole, nothing is concluded from what the driver does not list',
} as const;

/** Rejects if the list fails at its first page, and when the signal aborts: the pass is then not counted. `isWhole`: the findings may be reported. */
export async function auditPass<
  P extends ListedPage,
  L extends { readonly entries: { readonly size: number } },
  C extends PassComparison,
>(
  { clock, random, logger, signal }: PassPorts,
  { underWay, metrics, settings, desk }: AuditDeps,
  { listed, page, collector, compare, ...texts }: AuditSpec<P, L, C>,
): Promise<{ readonly compared: C; readonly isWhole: boolean }> {
  const { auditIntervalMs, timeoutMs, workerThreads } = settings;
  // Its result is waited for.
  if (desk?.began() !== true) await clock.sleep(random.next() * spread * auditIntervalMs, signal);
  const startedMs = clock.monotonicMs();
  const ended = (pass: Pick<AuditedPass, 'result' | 'reason' | 'entries' | 'findings'>): void => {
    const endedMs = clock.nowMs();
    desk?.ended({ startedMs: endedMs - (clock.monotonicMs() - startedMs), endedMs, ...pass });
  };
  const quiet = whenQuiet(clock, { underWay, workers: workerThreads });
  const request = async (token: string): Promise<P> => {
    if (token !== '') await clock.sleep(pagePauseMs, signal);
    await quiet(signal);
    return await page({ max_entries: pageSize, starting_token: token }, { timeoutMs, signal });
  };
  try {
    const { list, incomplete } = await listInto(collector, request, { nowMs: () => clock.nowMs(), signal });
    const compared = await inSlices(clock, compare(list), signal);
    const durationMs = clock.monotonicMs() - startedMs;
    const reason =
      incomplete ?? (compared.isSuspicious ? `the driver seems to list a part of its ${listed}` : undefined);
    const result = reason === undefined ? 'ok' : 'incomplete';
    metrics?.ended(result);
    ended({ result, reason, entries: list.entries.size, findings: compared.findings });
    if (reason !== undefined) {
      logger.warn(auditMessages.incomplete, { reason });
      return { compared, isWhole: false };
    }
    const entries = list.entries.size;
    metrics?.found(compared.findings);
    metrics?.succeeded({ atMs: clock.nowMs(), durationMs, entries });
    logFindings(logger, compared.findings, { ...texts, entries, durationMs });
    return { compared, isWhole: true };
  } catch (error) {
    if (!signal.aborted) {
      metrics?.ended('failed');
      const reason = error instanceof Error ? error.message : String(error);
      ended({ result: 'failed', reason, entries: 0, findings: [] });
    }
    throw error;
  }
}

/** Rejects when the signal aborts: the leadership has ended. */
async function inSlices<T>(
  clock: Pick<Clock, 'sleep'>,
  slices: Iterator<undefined, T>,
  signal: AbortSignal,
): Promise<T> {
  let next = slices.next();
  for (; next.done !== true; next = slices.next()) await clock.sleep(slicePauseMs, signal);
  signal.throwIfAborted();
  return next.value;
}

interface PassFacts {
  readonly compared: string;
  readonly object: string;
  readonly entries: number;
  readonly durationMs: number;
}

function logFindings(
  logger: Logger,
  findings: readonly PassFinding[],
  { compared, object: objectName, entries, durationMs }: PassFacts,
): void {
  const differences = findings.filter(({ level }) => level === 'difference').length;
  const mayBeWork = findings.filter(({ level }) => level === 'mayBeWork').length;
  logger.info(2, compared, { entries, differences, mayBeWork, seconds: durationMs / 1_000 });
  if (!logger.enabled(4)) return;
  for (const { row, class: group, handle, object, sentence } of findings) {
    logger.info(4, auditMessages.found, {
      row,
      class: group,
      handle,
      [objectName]: object?.name ?? '',
      reason: sentence,
    });
  }
}
