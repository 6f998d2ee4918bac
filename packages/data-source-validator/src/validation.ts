// SPDX-License-Identifier: Apache-2.0
/**
 * The loop of claims: what each of them names as its source. Rows DV1 to DV7 of docs/behaviour/data-source-validator.md. It writes nothing
 * and waits for nothing, so claims are counted however many events are still to be sent.
 *
 * Not here: the event on a claim whose source is unknown, which `warning.ts` writes.
 */
import {
  conclude,
  type Conclusion,
  defaultControllerLimiter,
  defineLoop,
  done,
  type Flow,
  keyOf,
  type Loop,
  type LoopTypes,
  type ObjectKey,
  type PersistentVolumeClaim,
  type Trigger,
} from '@csi-sidecars/runtime';
import { kindKey, sourceOf, type VolumePopulator } from './populator.ts';
import type { DataSourceValidatorSettings } from './settings.ts';
import type { UnknownClaims } from './unknown-claims.ts';
import { type Verdict, verdictOf } from './verdict.ts';
import type { Watched } from './watched.ts';

interface ValidationLoop extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: { readonly claims: PersistentVolumeClaim; readonly populators: VolumePopulator };
  readonly observed: Observed;
  readonly conclusion: Conclusion;
}

export interface Observed {
  /** Undefined: it is gone. */
  readonly verdict: Verdict | undefined;
  /** It still waits for its volume, and is not being deleted. */
  readonly isWaiting: boolean;
}

export interface ValidationContext {
  readonly settings: DataSourceValidatorSettings;
  readonly unknown: UnknownClaims;
  /** Called for each look at a claim. */
  readonly count: (verdict: Verdict) => void;
  /** A claim that waits has an unknown source. */
  readonly warn: Trigger<ObjectKey>;
  /** Called for each change of a populator that registers nothing. */
  readonly skipped: (populator: VolumePopulator) => void;
}

export function validationLoop(context: ValidationContext, watches: Watched): Loop {
  const { settings, unknown, count, warn, skipped } = context;
  return defineLoop<ValidationLoop>({
    name: 'volume-data-source-validator',
    settings,
    watches: { ...watches },
    primary: { watch: 'claims', keyOf },
    handlers: {
      claims: ({ previous, current }) => {
        const claim = current ?? previous;
        return claim && keyOf(claim);
      },
      populators: ({ previous, current, isInInitialList }, { claims }) => {
        if (current !== undefined && current.sourceKind === undefined) skipped(current);
        // All claims are looked at then.
        if (isInInitialList) return undefined;
        const kinds = [previous?.sourceKind, current?.sourceKind].filter((kind) => kind !== undefined);
        return kinds.flatMap((kind) => claims.byIndex('source', kindKey(kind)).filter(isWaiting).map(keyOf));
      },
    },
    observe: ({ claims, populators }, key) => {
      const claim = claims.get(key);
      const isRegistered = (kind: string): boolean => populators.byIndex('registered', kind).length > 0;
      return {
        verdict: claim && verdictOf(sourceOf(claim), (source) => isRegistered(kindKey(source))),
        isWaiting: claim !== undefined && isWaiting(claim),
      };
    },
    context,
    flow: validate,
    onConclude: ({ key, observed: { verdict, isWaiting: waits } }) => {
      if (verdict !== undefined) count(verdict);
      if (verdict === 'invalid') unknown.add(key);
      else unknown.delete(key);
      if (verdict === 'invalid' && waits) warn.wake(key);
    },
    limiter: ({ clock }) => defaultControllerLimiter(clock),
  });
}

/** The API server sets the phase when it creates a claim. */
export function isWaiting({ metadata, status }: PersistentVolumeClaim): boolean {
  return (status?.phase ?? 'Pending') === 'Pending' && metadata?.deletionTimestamp === undefined;
}

const rows: Readonly<Record<Exclude<Verdict, 'invalid'>, string>> = {
  empty: 'DV2',
  pvc: 'DV3',
  snapshot: 'DV4',
  populator: 'DV5',
};

// oxlint-disable-next-line require-yield -- a flow without steps
export function* validate({ verdict, isWaiting: waits }: Observed): Flow<Conclusion> {
  if (verdict === undefined) return conclude('DV1', done);
  if (verdict !== 'invalid') return conclude(rows[verdict], done);
  return conclude(waits ? 'DV6' : 'DV7', done);
}
