// SPDX-License-Identifier: Apache-2.0
/**
 * The loop of events: one on each claim that waits and whose source is unknown. Rows DW1 to DW4 of docs/behaviour/data-source-validator.md.
 * A worker waits for its event, so no more events are under way than there are workers, and the rate limit of the client delays the
 * others instead of dropping them.
 */
import {
  type AwaitableRecorder,
  conclude,
  type Conclusion,
  defaultControllerLimiter,
  defineLoop,
  type Delivery,
  done,
  type Flow,
  type Loop,
  type LoopTypes,
  type ObjectKey,
  perform,
  type PersistentVolumeClaim,
  requeueAfter,
  retry,
  type Run,
  type Trigger,
} from '@csi-sidecars/runtime';
import { kindAnnotation } from './names.ts';
import { shownKind, type SourceKind, sourceOf } from './populator.ts';
import type { DataSourceValidatorSettings } from './settings.ts';
import type { UnknownClaims } from './unknown-claims.ts';
import { isWaiting } from './validation.ts';
import type { Watched } from './watched.ts';

interface WarningLoop extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: { readonly claims: PersistentVolumeClaim };
  readonly observed: Observed;
  readonly conclusion: Conclusion;
  readonly context: WarningContext;
}

export interface Observed {
  /** Undefined: there is nothing to report any more. */
  readonly unknown:
    | { readonly claim: PersistentVolumeClaim; readonly source: SourceKind; readonly ageMs: number }
    | undefined;
}

export interface WarningContext {
  readonly settings: DataSourceValidatorSettings;
  readonly unknown: UnknownClaims;
  readonly events: Pick<AwaitableRecorder, 'deliver'>;
  readonly warn: Trigger<ObjectKey>;
}

/** An operator that installs claims and populators in one go makes the populators within this time. */
export const patienceMs = 1_000;

export const warning = {
  type: 'Warning',
  reason: 'UnrecognizedDataSourceKind',
  message: 'The datasource for this PVC does not match any registered VolumePopulator',
} as const;

export function warningLoop(context: WarningContext, { claims }: Pick<Watched, 'claims'>): Loop {
  const { settings, unknown, warn } = context;
  return defineLoop<WarningLoop>({
    name: 'volume-data-source-validator-event',
    settings,
    watches: { claims },
    handlers: {},
    sources: [warn.source],
    observe: (caches, key) => {
      const [claim, ageMs] = [caches.claims.get(key), unknown.ageMs(key)];
      const source = claim && sourceOf(claim);
      const isReported = claim !== undefined && source !== undefined && ageMs !== undefined && isWaiting(claim);
      return { unknown: isReported ? { claim, source, ageMs } : undefined };
    },
    context,
    flow: warnUser,
    limiter: ({ clock }) => defaultControllerLimiter(clock),
    retryMessage: 'The event on a claim was not written, will retry',
  });
}

export function* warnUser({ unknown }: Observed): Flow<Conclusion> {
  if (unknown === undefined) return conclude('DW1', done);
  const { claim, source, ageMs } = unknown;
  if (ageMs < patienceMs) return conclude('DW2', requeueAfter(patienceMs - ageMs));
  const delivery = yield* perform('DW3', report, claim, source);
  if (delivery === 'dropped') return conclude('DW4', retry(new Error('the API server did not take it')));
  return conclude('DW3', done);
}

function report(
  { logger, key, context: { events } }: Run<WarningLoop>,
  claim: PersistentVolumeClaim,
  source: SourceKind,
): Promise<Delivery> {
  const shown = shownKind(source);
  logger.info(0, 'No VolumePopulator registers the kind of the data source', {
    PersistentVolumeClaim: key,
    dataSourceKind: shown,
  });
  return events.deliver(claim, { ...warning, annotations: { [kindAnnotation]: shown } });
}
