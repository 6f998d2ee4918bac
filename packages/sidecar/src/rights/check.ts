// SPDX-License-Identifier: Apache-2.0
/**
 * Looks in the background whether the account of a controller has the rights that it needs, and reports those that it lacks. Nothing
 * waits for it, and no failure of it leaves this file.
 *
 * It looks when the controller begins, and again some time after a request was refused: somebody may grant the right meanwhile.
 */
import {
  type ApiClient,
  ApiError,
  type Clock,
  isForbidden,
  linkSignals,
  type Logger,
  type Metrics,
  type Timer,
  toError,
} from '@csi-sidecars/runtime';
import { causesOf } from '@csi-sidecars/runtime/internal';
import { askRights, type Findings } from './ask.ts';
import { byResource } from './report.ts';
import { keyOf, resourceKey, type WantedRight } from './wanted.ts';

export interface RightsPorts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Ends it, however it ends. */
  readonly signal: AbortSignal;
}

export interface RightsCheck extends Disposable {
  /** Looks now. Called for each run of the controller. */
  readonly begin: (client: Pick<ApiClient, 'create'>, wantedOf: () => Promise<readonly WantedRight[]>) => void;
  /** A request of the controller was refused. */
  readonly refused: () => void;
  /** Those that the last look found. Undefined: none has succeeded yet. */
  readonly missing: () => readonly WantedRight[] | undefined;
  /** The resource that the error is about, if the last look found that a right for it is missing. */
  readonly missingFor: (error: unknown) => string | undefined;
}

interface Asked {
  readonly client: Pick<ApiClient, 'create'>;
  readonly wantedOf: () => Promise<readonly WantedRight[]>;
}

const keysOf = (rights: readonly WantedRight[]): ReadonlySet<string> => new Set(rights.map(keyOf));

const afterRefusalMs = 60_000;
const betweenMs = 10 * 60_000;

/** `controller` is its label in metrics. */
export function createRightsCheck({ clock, log, metrics, signal }: RightsPorts, controller: string): RightsCheck {
  const life = linkSignals([signal]);
  let asked: Asked | undefined;
  let missing: readonly WantedRight[] = [];
  let hasLooked = false;
  let isLooking = false;
  let isFailureLogged = false;
  let nextMs = -Infinity;
  let alarm: Timer | undefined;

  metrics.gauge({
    name: 'csi_sidecars_missing_rights',
    help: 'Rights that the controller needs and its account lacks.',
    labels: ['controller', 'group', 'resource', 'verb'],
    collect: () => {
      const series = new Map(missing.map((right) => [`${right.verb} ${right.group} ${right.resource}`, right]));
      return [...series.values()].map(({ group, resource, verb }) => ({
        labels: { controller, group, resource, verb },
        value: 1,
      }));
    },
  });

  const report = (findings: Findings, wanted: readonly WantedRight[]): void => {
    const [unknown, before, needed] = [keysOf(findings.unknown), keysOf(missing), keysOf(wanted)];
    const now = [...findings.missing, ...missing.filter((right) => unknown.has(keyOf(right)))];
    const lacked = keysOf(now);
    // What is not needed any more has not been granted.
    const granted = missing.filter((right) => needed.has(keyOf(right)) && !lacked.has(keyOf(right)));
    missing = now;
    hasLooked = true;
    for (const { rights, text, consequence } of byResource(now))
      if (rights.some((right) => !before.has(keyOf(right)))) log.warn(`Missing right: ${text}: ${consequence}`);
    for (const { text } of byResource(granted)) log.info(0, `Right granted: ${text}`);
    if (findings.reason !== undefined) logFailure(findings.reason);
  };
  const logFailure = (reason: string): void => {
    if (isFailureLogged) return;
    isFailureLogged = true;
    log.info(0, `Rights could not be checked: ${reason}`);
  };
  const look = async (): Promise<void> => {
    if (isLooking || asked === undefined || life.signal.aborted) return;
    isLooking = true;
    const looked = asked;
    try {
      const wanted = await looked.wantedOf();
      report(await askRights({ client: looked.client, signal: life.signal }, wanted), wanted);
    } catch (error) {
      if (!life.signal.aborted) logFailure(toError(error).message);
    }
    isLooking = false;
    // A run that has begun meanwhile may need other rights.
    if (asked !== looked) await look();
  };
  life.signal.addEventListener('abort', () => alarm?.cancel(), { once: true });

  return {
    begin: (client, wantedOf) => {
      asked = { client, wantedOf };
      void look();
    },
    refused: () => {
      if (asked === undefined || alarm !== undefined || life.signal.aborted) return;
      const nowMs = clock.monotonicMs();
      const dueMs = Math.max(nowMs + afterRefusalMs, nextMs);
      nextMs = dueMs + betweenMs;
      alarm = clock.timer(dueMs - nowMs, () => {
        alarm = undefined;
        void look();
      });
    },
    missing: () => (hasLooked ? missing : undefined),
    missingFor: (error) => {
      const refusal = refusalIn(error);
      if (refusal === undefined) return undefined;
      const found = missing.find(
        ({ group, resource }) => group === refusal.group && resource.split('/', 1)[0] === refusal.resource,
      );
      return found && resourceKey({ ...found, namespace: undefined });
    },
    [Symbol.dispose]: () => life[Symbol.dispose](),
  };
}

/** The API server names the resource in the details of its answer. The error may be the cause of another one. */
function refusalIn(error: unknown): { readonly group: string; readonly resource: string } | undefined {
  for (const link of causesOf(error)) {
    if (!(link instanceof ApiError) || !isForbidden(link)) continue;
    const { group = '', kind: resource = '' } = link.details ?? {};
    return { group, resource };
  }
  return undefined;
}
