// SPDX-License-Identifier: Apache-2.0
/**
 * The claims that name a source, as the API server has them now. The proof that a cache is not behind: a claim may have been created, or
 * protected its source, a moment ago.
 *
 * One list serves all questions that were asked before it began, so that many removals in one namespace need few lists. A list that
 * began before the question is no proof. Pages are small and thrown away, so a namespace of many claims costs little memory.
 */
import { type ApiClient, type PersistentVolumeClaim, persistentVolumeClaims } from '@csi-sidecars/runtime';
import { pagesOf } from '../../pages.ts';
import { referencedBy, sourceKey, type SourceKey } from '../source.ts';
import { trimClaim } from './watched.ts';

/** Claims of any phase, by the source that they name. */
export type ClaimsBySource = ReadonlyMap<SourceKey, readonly PersistentVolumeClaim[]>;

export interface LiveClaims {
  /** Undefined: the claims of all namespaces. */
  read(client: Pick<ApiClient, 'list'>, namespace: string | undefined, signal: AbortSignal): Promise<ClaimsBySource>;
}

interface Lists {
  running: Promise<ClaimsBySource>;
  /** Begins when the running list has ended. */
  next: Promise<ClaimsBySource> | undefined;
}

export function createLiveClaims(): LiveClaims {
  const lists = new Map<string, Lists>();
  return {
    read(client, namespace, signal) {
      const id = namespace ?? '';
      const start = (): Promise<ClaimsBySource> => {
        const entry: Lists = { running: listAll(client, namespace, signal), next: undefined };
        lists.set(id, entry);
        const end = (): void => {
          if (entry.next === undefined) lists.delete(id);
        };
        entry.running.then(end, end);
        return entry.running;
      };
      const current = lists.get(id);
      if (current === undefined) return start();
      current.next ??= current.running.then(start, start);
      return current.next;
    },
  };
}

async function listAll(
  client: Pick<ApiClient, 'list'>,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<ClaimsBySource> {
  const found = new Map<SourceKey, PersistentVolumeClaim[]>();
  for await (const page of pagesOf(client, { resource: persistentVolumeClaims, namespace }, signal)) {
    for (const claim of page) {
      const source = referencedBy(claim);
      if (source === undefined) continue;
      const key = sourceKey(source);
      const claims = found.get(key) ?? [];
      claims.push(kept(claim));
      found.set(key, claims);
    }
  }
  return found;
}

/** What decides whether the claim needs its source, so that a list of thousands of claims costs little memory. */
function kept(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const trimmed = trimClaim(claim);
  const finalizers = claim.metadata?.finalizers;
  return finalizers === undefined ? trimmed : { ...trimmed, metadata: { ...trimmed.metadata, finalizers } };
}
