// SPDX-License-Identifier: Apache-2.0
/** What each action of the modification loop does. No decisions: those are in `decide`. */
import { attempt, isFailed, type PersistentVolume, type Performers, type Step } from '@csi-sidecars/runtime';
import { outcomeOfModification } from '../call-outcome.ts';
import { currentClassOf } from '../claim.ts';
import { readCallSecret } from '../secret.ts';
import { changeVolume } from '../write-volume.ts';
import * as messages from './messages.ts';
import type { ModifyContext, ModifyLoop, ModifyState } from './state.ts';
import { cancel, mark, saveFailure, saveForeign, savePending, saveResult } from './write-claim-status.ts';

export function performers(context: ModifyContext): Performers<ModifyLoop> {
  const { events, turns } = context;
  return {
    takeTurn: ({ key, action }) => ({ turn: turns.take(action.volumeHandle, 'modify', key) ? 'taken' : 'busy' }),
    savePending: (step) => savePending(context, step),
    saveForeign: (step) => saveForeign(context, step),
    cancel: (step) => cancel(context, step),
    mark: (step) => mark(context, step),
    resume: ({ action }) => ({ modifiesTo: action.target }),
    announce: ({ action: { claim, target } }) => {
      events.record(claim, messages.modifying(claim.metadata?.name ?? '', target.metadata?.name ?? ''));
      return { isAnnounced: true };
    },
    readSecret: async ({ client, action, signal }) => ({
      secrets: await readCallSecret(client, action.reference, signal),
    }),
    modify: (step) => modify(context, step),
    saveVolume,
    saveResult: (step) => saveResult(context, step),
    saveFailure: (step) => saveFailure(context, step),
  };
}

/**
 * A class that another process has written meanwhile stays. The class that the claim has is none of those: the cached PersistentVolume may be
 * older than the claim, which was read or written before the call.
 */
async function saveVolume(step: Step<ModifyLoop, 'saveVolume'>): Promise<Partial<ModifyState>> {
  const { volume, className } = step.action;
  const { claim } = step.state;
  const earlier = [classOf(volume), claim === undefined ? '' : currentClassOf(claim)];
  const volumeSaved = await attempt(() =>
    changeVolume(step, volume, (known) =>
      earlier.includes(classOf(known)) ? { spec: { volumeAttributesClassName: className } } : undefined,
    ),
  );
  return { volumeSaved };
}

function classOf({ spec }: PersistentVolume): string {
  return spec?.volumeAttributesClassName ?? '';
}

const method = '/csi.v1.Controller/ControllerModifyVolume';

async function modify(
  { channel, memory, settings, openCalls }: ModifyContext,
  { key, clock, action: { claim, request }, signal }: Step<ModifyLoop, 'modify'>,
): Promise<Partial<ModifyState>> {
  const volumeHandle = request.volume_id ?? '';
  const uid = claim.metadata?.uid ?? '';
  const startedMs = clock.monotonicMs();
  const before = memory.get(key, uid);
  // From here on the call may be under way, until an answer says otherwise.
  memory.delete(key);
  const modified = await attempt(() => channel.call(method, request, { timeoutMs: settings.modifyTimeoutMs, signal }));
  const failure = isFailed(modified) ? modified.failure : undefined;
  const outcome = failure && outcomeOfModification(failure);
  openCalls.note({ key, volumeHandle, method, startedMs, isOpen: outcome === 'open' }, failure);
  if (outcome === 'infeasible') memory.set(key, { kind: 'infeasible', uid, sinceMs: clock.monotonicMs() });
  if (outcome === 'final') memory.set(key, { kind: 'settled', uid });
  if (outcome === 'notSent' && before !== undefined) memory.set(key, before);
  return { modified };
}
