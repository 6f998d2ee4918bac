// SPDX-License-Identifier: Apache-2.0
/**
 * The loop of a driver whose volumes need no attaching: its VolumeAttachments are marked attached as they come, deleted or not.
 * Rows T1 to T3 of the attacher's page. No call to the driver, no finalizer, no node id.
 */
import {
  type ApiClient,
  done,
  type Handler,
  type Informer,
  isNotFound,
  type Reconcile,
  retry,
  toError,
  toObjectKey,
  type VolumeAttachment,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { notSaved } from '../attach/messages.ts';
import { isAttached } from '../attachment-facts.ts';

export interface TrivialLoopDeps {
  readonly client: ApiClient;
  readonly attachments: Informer<VolumeAttachment>;
  readonly driverName: string;
}

export function createTrivialReconcile({ client, attachments, driverName }: TrivialLoopDeps): Reconcile<string> {
  return async (name, signal) => {
    const attachment = attachments.lister.get(toObjectKey(undefined, name));
    if (attachment?.spec.attacher !== driverName) return done; // T1
    if (isAttached(attachment)) return done; // T2
    const body = {
      metadata: { uid: attachment.metadata?.uid },
      status: { attached: true, attachmentMetadata: null, attachError: null },
    };
    try {
      const target = { resource: volumeAttachments, ref: { name } };
      attachments.remember(await client.patch(target, { type: 'merge', body }, { signal, subresource: 'status' })); // T3
      return done;
    } catch (error) {
      if (isNotFound(error)) return done; // T3
      return retry(new Error(notSaved(toError(error).message), { cause: error })); // T3
    }
  };
}

export function trivialHandler(
  driverName: string,
  enqueue: (name: string) => void,
  forget: (name: string) => void,
): Handler<VolumeAttachment> {
  const consider = (attachment: VolumeAttachment): void => {
    if (attachment.spec.attacher === driverName && !isAttached(attachment)) enqueue(attachment.metadata?.name ?? '');
  };
  return {
    add: consider,
    update: (_previous, current) => consider(current),
    delete: ({ object }) => forget(object.metadata?.name ?? ''),
  };
}
