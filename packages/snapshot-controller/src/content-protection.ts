// SPDX-License-Identifier: Apache-2.0
/** What the loops of contents and of group contents have in common: they add one finalizer, and csi-snapshotter removes it. */
import {
  type ApiClient,
  attempt,
  type Attempt,
  changeObject,
  type Clock,
  done,
  finalizersWith,
  isFailed,
  type KubeObject,
  type Random,
  type Resource,
  retry,
  type WrittenCache,
} from '@csi-sidecars/runtime';
import type { ContentReference } from '@csi-sidecars/volume';
import { type Conclusion, conclude } from './conclusions.ts';
import { updateError } from './update-error.ts';

export interface ContentState<T extends KubeObject> {
  /** Undefined: it is gone. */
  readonly content: T | undefined;
  readonly protected: Attempt;
}

export type ContentAction<T extends KubeObject> = { readonly row: string } & (
  | { readonly kind: 'protect'; readonly content: T }
  | Conclusion
);

export interface ContentRows {
  readonly unbound: string;
  readonly settled: string;
  readonly unprotected: string;
}

/** A content that is bound to nothing yet has nothing to protect. */
export function decideProtection<T extends KubeObject>(
  state: ContentState<T>,
  {
    content,
    reference,
    finalizer,
  }: {
    readonly content: T;
    readonly reference: ContentReference | undefined;
    readonly finalizer: string;
  },
  rows: ContentRows,
): ContentAction<T> {
  if ((reference?.uid ?? '') === '') return conclude(rows.unbound, done);
  if (isFailed(state.protected)) {
    const { failure } = state.protected;
    const message = updateError(content.metadata?.name ?? '', failure.message);
    return conclude(rows.unprotected, retry(new Error(message, { cause: failure })));
  }
  const { metadata } = content;
  const isSettled = metadata?.deletionTimestamp !== undefined || finalizersWith(content, finalizer) === undefined;
  if (isSettled || state.protected === 'done') return conclude(rows.settled, done);
  return { row: rows.unprotected, kind: 'protect', content };
}

export interface ProtectDeps<T extends KubeObject> {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly cache: WrittenCache<T>;
}

/** A content whose deletion began meanwhile gets no finalizer. */
export function protect<T extends KubeObject>(
  deps: ProtectDeps<T>,
  { resource, content, finalizer }: { readonly resource: Resource<T>; readonly content: T; readonly finalizer: string },
  signal: AbortSignal,
): Promise<Attempt> {
  return attempt(() =>
    changeObject(
      deps,
      {
        resource,
        object: content,
        patch: (known) => {
          const finalizers =
            known.metadata?.deletionTimestamp === undefined ? finalizersWith(known, finalizer) : undefined;
          return finalizers && { metadata: { finalizers } };
        },
      },
      { signal },
    ),
  );
}
