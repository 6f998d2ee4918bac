// SPDX-License-Identifier: Apache-2.0
/** What a dry run is given, and what it answers. */
import type { ApiClient } from '../api/client.ts';
import type { KubeObject } from '../api/objects.ts';
import type { Resource } from '../api/resource.ts';
import type { Clock } from '../clock/clock.ts';
import type { Random } from '../clock/random.ts';

/** Objects of one kind, as the API server sent them. They are copied, never changed. */
export interface KnownObjects<T extends KubeObject = KubeObject> {
  readonly resource: Resource<T>;
  readonly objects: readonly T[];
}

/** Reads that a run makes beside its caches. */
export type Reader = Pick<ApiClient, 'get' | 'list' | 'raw'>;

export interface DryWorld {
  /** What the caches of the controller show. A kind that is missing has no objects. */
  readonly objects: readonly KnownObjects[];
  /** Rejects as the API client does: NotFound is an answer, every other failure is listed in `assumed`. */
  readonly read: Reader;
  readonly clock: Clock;
  readonly random: Random;
}

/** A row of the behaviour page that a run came to. `action` is the name of its step, or `conclude`. */
export interface DecidedRow {
  readonly row: string;
  readonly action: string;
}

export type DryAction =
  /** The driver would be called. */
  | { readonly kind: 'call'; readonly method: string }
  /** The API server would be asked to change something. `persistentvolumeclaims/status` names a subresource. */
  | { readonly kind: 'write'; readonly verb: WriteVerb; readonly resource: string }
  /** The run would end without a write or a call. */
  | { readonly kind: 'conclude'; readonly outcome: DryOutcome }
  /** The loop does not work on the key: there is no such object, or it is not one of this loop. */
  | { readonly kind: 'none' };

export type WriteVerb = 'create' | 'update' | 'patch' | 'delete';

/** When the loop would look again, and the reason. Texts come from the cluster: at most 1,024 characters, control characters escaped. */
export type DryOutcome =
  | { readonly kind: 'done' | 'dropped' }
  | { readonly kind: 'requeueAfter'; readonly afterMs: number }
  | { readonly kind: 'retry' | 'postpone'; readonly text: string };

export interface DryRunResult {
  /** The row at which the run would first write, call the driver, or conclude. Undefined if the action is `none`. */
  readonly row: string | undefined;
  /** All rows up to it, in order. */
  readonly rows: readonly DecidedRow[];
  readonly action: DryAction;
  /** What the answer depends on and the caller cannot know: words, and reads that failed. As safe to show as the texts of outcomes. */
  readonly assumed: readonly string[];
}
