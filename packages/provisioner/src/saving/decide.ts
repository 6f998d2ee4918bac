// SPDX-License-Identifier: Apache-2.0
/** The save loop's rows. Pure. */
import { done, retry } from '@csi-sidecars/runtime';
import * as messages from '../claim/messages.ts';
import type { Action, SaveState } from './state.ts';

export function decide({ saving, saved }: SaveState): Action {
  if (saved === undefined) return { row: 'S9', kind: 'save' };
  const { row } = saved;
  switch (saved.kind) {
    case 'later':
      return { row, kind: 'conclude', outcome: retry(saved.cause), events: [], claimIs: 'saving' };
    case 'saved': {
      const events = saved.claim === 'there' ? [messages.succeeded(saving.pinned.plan.volumeName)] : [];
      return { row, kind: 'conclude', outcome: done, events, claimIs: 'settled' };
    }
    case 'taken':
      return { row, kind: 'conclude', outcome: done, events: [messages.failed(saved.message)], claimIs: 'settled' };
    case 'refused':
      return { row, kind: 'conclude', outcome: done, events: [messages.failed(saved.message)], claimIs: 'again' };
  }
}
