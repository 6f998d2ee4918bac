// SPDX-License-Identifier: Apache-2.0
/** The effects of the source loops' actions. All decisions are in `decide`. */
import {
  finalizersWithout,
  isForbidden,
  isNotFound,
  type KubeObject,
  type Performers,
  toError,
  writeObject,
  type WrittenCache,
} from '@csi-sidecars/runtime';
import { volumeSnapshotContents } from '@csi-sidecars/volume';
import { isKnownProvisioner } from '../driver.ts';
import { sourceKey, type SourceRef } from '../source/source.ts';
import { needOf } from './need.ts';
import { finalizerOf, resourceOf } from './source-kinds.ts';
import type { SourceDeps, SourceLoop, SourceState } from './state.ts';

/** A process that stops does not wait longer for a write, which is not cancelled so that its outcome is known. */
const writeTimeoutMs = 10_000;

export function performers(deps: SourceDeps): Performers<SourceLoop> {
  const { driverName, settings, holds, liveClaims } = deps;
  return {
    readSource: async ({ client, state: { source }, signal }) => {
      try {
        return { live: { object: await client.get(resourceOf(source), nameOf(source), { signal }) } };
      } catch (error) {
        return { live: isNotFound(error) ? 'gone' : { failure: toError(error) } };
      }
    },
    readOwner: async ({ client, action: { contentName }, signal }) => {
      try {
        const { spec } = await client.get(volumeSnapshotContents, { name: contentName }, { signal });
        return { owner: isKnownProvisioner(driverName, spec?.driver) ? 'us' : 'other' };
      } catch (error) {
        // Without a content no driver is known to see to it, and upstream removes the finalizer whatever the driver.
        return { owner: isNotFound(error) || isForbidden(error) ? 'us' : { failure: toError(error) } };
      }
    },
    listClaims: async ({ client, caches: { volumes }, state: { source, origin }, signal }) => {
      const namespace = settings.features.crossNamespaceVolumeDataSource ? undefined : source.namespace;
      try {
        const claims = (await liveClaims.read(client, namespace, signal)).get(sourceKey(source)) ?? [];
        return { proof: needOf(claims, { driverName, settings, holds, volumes, origin }) };
      } catch (error) {
        return { proof: { failure: toError(error) } };
      }
    },
    release: async ({ client, caches, state: { source }, action: { object } }) => {
      let release: SourceState['release'] = 'done';
      const cache: WrittenCache<KubeObject> = source.kind === 'snapshot' ? caches.snapshots : caches.claims;
      const freed = await holds.whileFree(source, async () => {
        try {
          await writeObject(cache, object, () =>
            client.update(resourceOf(source), without(object, source), { timeoutMs: writeTimeoutMs }),
          );
        } catch (error) {
          if (!isNotFound(error)) release = { failure: toError(error) };
        }
      });
      return { release: freed === 'held' ? 'held' : release };
    },
  };
}

function nameOf({ namespace, name }: SourceRef): { readonly namespace: string; readonly name: string } {
  return { namespace, name };
}

/** The object as it was read, with fields that we do not know, so that the PUT changes nothing else. */
function without(object: KubeObject, source: SourceRef): KubeObject {
  const finalizers = finalizersWithout(object, finalizerOf(source)) ?? [];
  return { ...object, metadata: { ...object.metadata, finalizers } };
}
