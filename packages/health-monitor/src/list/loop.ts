// SPDX-License-Identifier: Apache-2.0
/**
 * The loop for a driver that lists unhealthy volumes: one cycle over the list after another. Rows L1 to L5 of docs/behaviour/health-monitor.md.
 * It writes nothing: it hands reports to the claim loop.
 */
import { CsiError, type ControllerListVolumeHealthResponse, listInto } from '@csi-sidecars/csi';
import {
  definePeriodicLoop,
  keyOf,
  type Loop,
  type ObjectKey,
  type Pass,
  type PersistentVolume,
} from '@csi-sidecars/runtime';
import { messages } from '../claim/messages.ts';
import { type GetDeps, getHealth } from '../get-health.ts';
import { normalise } from '../report/normalise.ts';
import { isBelievedUnhealthy, receive, type ReceiveDeps } from '../receive.ts';
import type { HealthMonitorSettings } from '../settings.ts';
import { handleOf, isMonitored, type Watched, type WatchedKinds } from '../watched.ts';
import { createListCycle, type ListCycle, type Listed } from './cycle.ts';

export interface ListContext extends GetDeps, ReceiveDeps {
  readonly settings: HealthMonitorSettings;
}

type ListPass = Pass<WatchedKinds>;

const name = 'csi-health-monitor-list';
/** Of a page, after the driver's own pages have been too large to be received. */
const smallPage = 500;
/** The monitors of a cluster do not list together after a restart of the API server. */
const spread = 0.1;

export function listLoop(context: ListContext, watches: Watched): Loop {
  const cycle = createListCycle();
  const pages = { maxEntries: context.settings.maxEntries };
  return {
    assemble: (ports) =>
      definePeriodicLoop<WatchedKinds>({
        name,
        watches: { ...watches },
        pauseMs: context.settings.listIntervalMs,
        pause: (ms, signal) => ports.clock.sleep(ms * (1 - spread * ports.random.next()), signal),
        pass: (pass) => oneCycle({ ...context, cycle, pages }, pass),
        failed: messages.cannotAsk,
      }).assemble(ports),
  };
}

interface CycleContext extends ListContext {
  readonly cycle: ListCycle;
  /** Smaller than asked for, after an answer that was too large. */
  readonly pages: { maxEntries: number };
}

/** Rejects if the list is not whole; what it has shown of unhealthy volumes has been handed on then. */
async function oneCycle(context: CycleContext, pass: ListPass): Promise<void> {
  const { memory, metrics, cycle } = context;
  const { caches, clock } = pass;
  const startedMs = clock.monotonicMs();
  memory.turns.beginCycle();
  cycle.begin();
  const incomplete = await listAll(context, pass);
  metrics.asked(
    'ControllerListVolumeHealth',
    incomplete === undefined ? 'success' : 'error',
    clock.monotonicMs() - startedMs,
  );
  const asked = new Set<string>();
  const keys = new Set<ObjectKey>();
  for (const volume of caches.volumes.list()) {
    keys.add(keyOf(volume));
    if (isMonitored(volume)) judge(volume);
  }
  cycle.end(keys);
  await askAll(context, pass, asked);
  if (incomplete !== undefined) throw incomplete;
  metrics.cycled({ atMs: clock.nowMs(), durationMs: clock.monotonicMs() - startedMs });

  function judge(volume: PersistentVolume): void {
    const key = keyOf(volume);
    const action = decide({
      listed: cycle.of(key),
      isWhole: incomplete === undefined,
      isUnhealthy: () => isBelievedUnhealthy(memory, caches.claims, volume),
    });
    if (action.kind === 'leave') return;
    if (pass.logger.enabled(5))
      pass.logger.info(5, 'Decided', { queue: name, key, row: action.row, action: action.kind });
    if (action.kind === 'ask') asked.add(handleOf(volume));
    else
      receive(
        context,
        { ...pass, claims: caches.claims },
        {
          volume,
          report: cycle.reportOf(key),
        },
      );
  }
}

export type Action = { readonly row: string; readonly kind: 'report' | 'ask' | 'leave' };

interface Shown {
  readonly listed: Listed;
  /** The list has all its pages: the absence of a volume says something. */
  readonly isWhole: boolean;
  readonly isUnhealthy: () => boolean;
}

export function decide({ listed, isWhole, isUnhealthy }: Shown): Action {
  if (listed === 'unhealthy') return { row: 'L1', kind: 'report' };
  if (listed === 'doubtful') return { row: 'L2', kind: 'ask' };
  if (listed === 'healthy' && isUnhealthy()) return { row: 'L3', kind: 'report' };
  if (listed === 'absent' && isWhole && isUnhealthy()) return { row: 'L4', kind: 'ask' };
  return { row: 'L5', kind: 'leave' };
}

/** Undefined: all pages were read. */
async function listAll(context: CycleContext, pass: ListPass): Promise<Error | undefined> {
  const { pages } = context;
  const before = pages.maxEntries;
  const incomplete = await listOnce(context, pass);
  const isSmaller = pages.maxEntries !== before;
  return isSmaller && incomplete !== undefined ? await listOnce(context, pass) : incomplete;
}

async function listOnce(
  { channel, cycle, pages, settings: { timeoutMs } }: CycleContext,
  { caches, clock, signal }: ListPass,
): Promise<Error | undefined> {
  const request = async (token: string): Promise<ControllerListVolumeHealthResponse> => {
    try {
      return await channel.call(
        '/csi.v1.Controller/ControllerListVolumeHealth',
        { max_entries: pages.maxEntries, starting_token: token },
        { timeoutMs, signal },
      );
    } catch (error) {
      if (pages.maxEntries === 0 && error instanceof CsiError && error.code === 'ResourceExhausted') {
        pages.maxEntries = smallPage;
      }
      throw error;
    }
  };
  const take = ({ entries }: ControllerListVolumeHealthResponse): void => {
    for (const { volume_id: handle, health_statuses: statuses } of entries) {
      for (const volume of caches.volumes.byIndex('handle', handle)) cycle.take(keyOf(volume), statuses);
    }
  };
  const collector = { begin: () => undefined, take, listOf: () => undefined };
  try {
    const { incomplete } = await listInto(collector, request, { nowMs: () => clock.nowMs(), signal, starts: 2 });
    return incomplete === undefined ? undefined : new Error(`the list is incomplete: ${incomplete}`);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CsiError) return error;
    throw error;
  }
}

/** As many at once as there are workers. A volume whose question fails is asked about again in the next cycle. */
async function askAll(context: ListContext, pass: ListPass, handles: ReadonlySet<string>): Promise<void> {
  const { signal, caches, logger } = pass;
  const rest = handles.values();
  const worker = async (): Promise<void> => {
    for (const handle of rest) {
      signal.throwIfAborted();
      try {
        const report = normalise(await getHealth(context, pass, handle));
        signal.throwIfAborted();
        for (const volume of caches.volumes.byIndex('handle', handle)) {
          receive(context, { ...pass, claims: caches.claims }, { volume, report });
        }
      } catch (error) {
        signal.throwIfAborted();
        logger.error(error, messages.cannotAsk, { volumeHandle: handle });
      }
    }
  };
  await Promise.all(Array.from({ length: context.settings.workerThreads }, worker));
}
