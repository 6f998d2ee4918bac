// SPDX-License-Identifier: Apache-2.0
/** The only action of the trivial loop. */
import { attempt, type Step, volumeAttachments, writeObject } from '@csi-sidecars/runtime';
import { ignoreGone } from '../ignore-gone.ts';
import type { TrivialLoop, TrivialState } from './state.ts';

/** The patch carries the UID, so that it cannot change another object of the same name. An object that is gone is not an error. */
export async function saveAttached({
  client,
  caches,
  key,
  action: { attachment },
  signal,
}: Step<TrivialLoop, 'saveAttached'>): Promise<Pick<TrivialState, 'saved'>> {
  const target = { resource: volumeAttachments, ref: { name: key } };
  const body = {
    metadata: { uid: attachment.metadata?.uid },
    status: { attached: true, attachmentMetadata: null, attachError: null },
  };
  const saved = await attempt(async () => {
    const options = { signal, subresource: 'status' } as const;
    await writeObject(caches.attachments, attachment, () =>
      client
        .patch(target, { type: 'merge', body }, options)
        .catch((refusal: unknown) =>
          ignoreGone({ client, signal }, { resource: volumeAttachments, object: attachment, refusal }),
        ),
    );
  });
  return { saved };
}
