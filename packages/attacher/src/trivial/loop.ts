// SPDX-License-Identifier: Apache-2.0
/** Assembles the trivial loop. It watches neither PersistentVolumes nor nodes; upstream watches PersistentVolumes all the same. */
import { defineLoop, type Loop } from '@csi-sidecars/runtime';
import { attachmentKey, isAttached } from '../attachment.ts';
import type { AttacherSettings } from '../settings.ts';
import { queueNames, type Watched } from '../watched.ts';
import { decide } from './decide.ts';
import { saveAttached } from './perform.ts';
import type { TrivialLoop } from './state.ts';

export interface TrivialContext {
  readonly driverName: string;
  readonly settings: AttacherSettings;
}

export function trivialLoop(
  { driverName, settings }: TrivialContext,
  { attachments }: Pick<Watched, 'attachments'>,
): Loop {
  return defineLoop<TrivialLoop>({
    name: queueNames.attachments,
    settings,
    watches: { attachments },
    subject: { watch: 'attachments', keyOf: attachmentKey },
    wakes: {
      attachments: ({ current }) =>
        current?.spec.attacher === driverName && !isAttached(current) ? attachmentKey(current) : undefined,
    },
    observe: (caches, key) => {
      const attachment = caches.attachments.get(key);
      return { attachment: attachment?.spec.attacher === driverName ? attachment : undefined, saved: 'untried' };
    },
    decide,
    perform: { saveAttached },
  });
}
