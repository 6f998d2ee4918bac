// SPDX-License-Identifier: Apache-2.0
/**
 * One request from its arrival to its status, in the order of the table in docs/behaviour/snapshot-metadata.md. What is refused early says
 * nothing of what would have been found later: a caller without rights does not learn which snapshots exist.
 *
 * One limit of time holds for all of it, in both directions: a caller that does not read is cut off as a driver that does not answer.
 */
import type { DriverStreams, MessageStream, StreamEnd } from '@csi-sidecars/csi';
import {
  type Clock,
  DeadlineError,
  linkSignals,
  type Logger,
  unlessAborted,
  withDeadline,
} from '@csi-sidecars/runtime';
import { findSnapshot, type FoundSnapshot, type SnapshotClients } from '../request/find-snapshot.ts';
import { Refusal } from '../request/refusal.ts';
import type { Sender } from '../request/known-tokens.ts';
import { type MetadataRequest, refusedArguments } from '../request/request.ts';
import type { Reviews } from '../request/reviews.ts';
import { relay, type RelayEnd } from '../stream/relay.ts';
import { createScan } from '../stream/scan.ts';
import type { StreamMetrics } from './metrics.ts';
import type { StreamLimits } from './stream-limits.ts';

export interface Caller extends Omit<Sender, 'token'> {
  /** Aborts when the caller has cancelled, or its connection is gone. */
  readonly gone: AbortSignal;
  /** What is left of the caller's own deadline; Infinity if it has none. */
  readonly leftMs: number;
  /** Called when the caller is admitted. */
  readonly onServed: () => void;
  /** Resolves when the connection has taken the message. It may never settle once the caller is gone. */
  readonly write: (message: Uint8Array) => Promise<void>;
}

export interface HandlerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly reviews: Reviews;
  readonly clients: SnapshotClients;
  readonly driver: Pick<DriverStreams, 'open'>;
  readonly limits: StreamLimits;
  readonly metrics: StreamMetrics;
  readonly isReady: () => boolean;
  /** Aborts when the streams that still run have to end. */
  readonly stopped: AbortSignal;
}

export interface HandlerSettings {
  readonly driverName: string;
  readonly maxDurationMs: number;
}

export type Handler = (request: MetadataRequest, caller: Caller) => Promise<StreamEnd>;

const traceLevel = 4;

export function createHandler(deps: HandlerDeps, { driverName, maxDurationMs }: HandlerSettings): Handler {
  const { clock, log, metrics, limits } = deps;
  let count = 0;

  return async (request, caller) => {
    const startedMs = clock.monotonicMs();
    count += 1;
    const op = `${operations[request.kind]}-${count}`;
    log.info(traceLevel, 'Request', { op, ...factsOf(request) });
    let isAdmitted = false;
    const onAdmitted = (): void => {
      isAdmitted = true;
      caller.onServed();
    };
    const end = await withoutThrow(op, async () => {
      using linked = linkSignals([caller.gone, deps.stopped]);
      const ms = Math.min(maxDurationMs, caller.leftMs);
      return await withDeadline(clock, { parent: linked.signal, ms }, (signal) =>
        answer({ op, request, caller, signal, onAdmitted, endsMs: startedMs + ms }),
      );
    });
    log.info(traceLevel, 'Request has ended', { op, code: end.code });
    metrics.finished({
      kind: request.kind,
      code: end.code,
      seconds: (clock.monotonicMs() - startedMs) / 1000,
      target: isAdmitted ? `${request.namespace}/${request.snapshotName}` : undefined,
      base: isAdmitted && request.kind === 'delta' ? request.baseSnapshotId : undefined,
    });
    return end;
  };

  async function withoutThrow(op: string, work: () => Promise<StreamEnd>): Promise<StreamEnd> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Refusal) {
        metrics.refused(error.step);
        log.info(2, 'Request is refused', { op, row: error.row, code: error.code, reason: error.message });
        return { code: error.code, detail: error.message };
      }
      log.error(error, 'Request has failed', { op });
      return { code: 'Internal', detail: 'internal error' };
    }
  }

  async function answer(run: Run): Promise<StreamEnd> {
    const { request, caller, signal, op } = run;
    const refused = refusedArguments(request);
    if (refused !== undefined) throw refused;
    const user = await admit(run);
    using _ = limits.stream(user.username ?? '');
    run.onAdmitted();
    if (!deps.isReady()) throw new Refusal('R1', { code: 'Unavailable', message: 'the CSI driver is not yet ready' });
    const { namespace, snapshotName: name } = request;
    const found = await findSnapshot(deps.clients, { driverName, namespace, name }, signal);
    log.info(traceLevel, 'Calling the CSI driver', { op, snapshotId: found.handle });
    const messages = open(run, found);
    const warn = (text: string): void => log.warn(text, { op });
    const scan = createScan({ startingOffset: BigInt(request.startingOffset), maxResults: request.maxResults, warn });
    const write = (message: Uint8Array): Promise<void> => unlessAborted(caller.write(message), signal);
    try {
      return endFor(run, await relay({ messages, scan, write, metrics }));
    } catch (error) {
      if (!signal.aborted) throw error;
      return endFor(run, { code: 'Canceled', detail: 'context canceled' });
    }
  }

  async function admit({ request, caller, signal, op }: Run) {
    const { token, namespace } = request;
    const { address, connection } = caller;
    return await deps.reviews.admit({ token, namespace, address, connection, signal, log: log.with({ op }) });
  }

  function open({ request, signal, endsMs }: Run, { handle, secrets }: FoundSnapshot): MessageStream {
    const options = { signal, timeoutMs: Math.max(endsMs - clock.monotonicMs(), 0) };
    const { startingOffset: starting_offset, maxResults: max_results } = request;
    const range = { starting_offset, max_results, secrets };
    if (request.kind === 'allocated') {
      return deps.driver.open(`${service}/GetMetadataAllocated`, { snapshot_id: handle, ...range }, options);
    }
    const ids = { base_snapshot_id: request.baseSnapshotId, target_snapshot_id: handle };
    return deps.driver.open(`${service}/GetMetadataDelta`, { ...ids, ...range }, options);
  }

  /** What the caller sees. A driver that takes its own deadline for the end of the list must not make it look complete. */
  function endFor({ op, signal, endsMs }: Run, end: RelayEnd): StreamEnd {
    const isOver = signal.reason instanceof DeadlineError || clock.monotonicMs() >= endsMs;
    const isStopped = signal.aborted && signal.reason === deps.stopped.reason;
    const { row, seen } = endOf({ end, isOver, isStopped });
    log.info(traceLevel, 'Stream has ended', { op, row, driver: end.code });
    return seen;
  }
}

interface Ended {
  readonly end: RelayEnd;
  readonly isOver: boolean;
  readonly isStopped: boolean;
}

function endOf({ end, isOver, isStopped }: Ended): { readonly row: string; readonly seen: StreamEnd } {
  const { row, ...seen } = end;
  if (row !== undefined) return { row, seen };
  if (isStopped) return { row: 'E1', seen: { code: 'Unavailable', detail: 'the sidecar is shutting down' } };
  if (isOver && (end.code === 'OK' || end.code === 'Canceled')) {
    return { row: 'E2', seen: { code: 'DeadlineExceeded', detail: 'context deadline exceeded' } };
  }
  if (end.code !== 'Unknown') return { row: 'E3', seen };
  const detail = `failed to get response from CSI driver: rpc error: code = Unknown desc = ${end.detail}`;
  return { row: 'E4', seen: { code: 'Internal', detail } };
}

interface Run {
  readonly op: string;
  readonly request: MetadataRequest;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly onAdmitted: () => void;
  /** On the monotonic clock. */
  readonly endsMs: number;
}

const service = '/csi.v1.SnapshotMetadata';
const operations = { allocated: 'GetMetadataAllocated', delta: 'GetMetadataDelta' } as const;

/** Without the token. */
function factsOf(request: MetadataRequest): object {
  const { namespace, snapshotName, startingOffset, maxResults } = request;
  const facts = { namespace, snapshotName, startingOffset, maxResults };
  return request.kind === 'delta' ? { ...facts, baseSnapshotId: request.baseSnapshotId } : facts;
}
