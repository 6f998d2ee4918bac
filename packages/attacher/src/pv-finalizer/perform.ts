// SPDX-License-Identifier: Apache-2.0
/** The one action of the PersistentVolume loop done, and what was learned from it. */
import {
  type ApiClient,
  type Informer,
  isNotFound,
  type Logger,
  type PersistentVolume,
  persistentVolumes,
  removeFinalizer,
  toError,
} from '@csi-sidecars/runtime';
import { finalizerOf } from '../names.ts';
import * as messages from './messages.ts';
import type { ReleaseState } from './state.ts';

export interface PerformDeps {
  readonly client: ApiClient;
  readonly logger: Logger;
  readonly volumes: Pick<Informer<PersistentVolume>, 'remember'>;
  readonly driverName: string;
}

export async function release(
  { client, logger, volumes, driverName }: PerformDeps,
  { volume }: ReleaseState,
  signal: AbortSignal,
): Promise<Pick<ReleaseState, 'release'>> {
  const { name = '' } = volume.metadata ?? {};
  const target = { resource: persistentVolumes, object: volume, finalizer: finalizerOf(driverName) };
  try {
    await removeFinalizer({ client, informer: volumes }, target, signal);
    logger.info(2, 'Removed finalizer from PersistentVolume', { PersistentVolume: name });
    return { release: 'done' };
  } catch (error) {
    if (isNotFound(error)) return { release: 'done' };
    const text = messages.releaseFailed(name, toError(error).message);
    return { release: { failure: new Error(text, { cause: error }) } };
  }
}
