// SPDX-License-Identifier: Apache-2.0
/** The questions about a claim that several rows ask. */
import type { ProvisionerSettings } from '../settings.ts';
import { isElsewhere as isOnOtherNode } from '../volume/volume.ts';
import { chosenNodeOf, isOurs } from './claim.ts';
import { keptForMs } from './deletion.ts';
import type { ClaimRecord } from './memory.ts';
import type { ClaimContext, Known } from './state.ts';

/** A volume may exist for the claim that no PersistentVolume records. */
export function isOutstanding({ memory, isProtected }: Pick<Known, 'memory' | 'isProtected'>): boolean {
  return memory.kind === 'none' ? isProtected : memory.kind !== 'settled';
}

/** A call of this process may have made a volume, and memory has it. */
export function isCalled({ memory }: Known): boolean {
  return memory.kind === 'pinned' || memory.kind === 'open';
}

/** Memory of the call whose answer the run has. */
export function pinnedOf({ memory }: Known): Extract<ClaimRecord, { kind: 'pinned' }> {
  if (memory.kind !== 'pinned') throw new Error('an answer without a pinned request');
  return memory;
}

/** This driver is asked for a volume, and the claim names none. */
export function isWanted({ claim }: Known, { driver }: ClaimContext): boolean {
  return isOurs(claim, driver.name) && !isBound(claim);
}

export function isBound({ spec }: Known['claim']): boolean {
  return (spec?.volumeName ?? '') !== '';
}

/** A volume may exist, and is no longer wanted. For a claim without a pinned request. */
export function mustSettle(s: Known, context: ClaimContext): boolean {
  if (!isOutstanding(s)) return false;
  const isForNothing = s.presence !== 'live' || !isWanted(s, context);
  return isForNothing || isElsewhere(s, context.settings) || s.volume.kind === 'elsewhere';
}

/** C37: whether the claim has waited long enough. */
export function isOverdue(s: Known, { settings }: ClaimContext): boolean {
  if (s.presence !== 'deleting' || s.deletion === undefined || !s.isProtected || !isOutstanding(s)) return false;
  const boundMs = settings.provisioningProtection === 'always' ? undefined : keptForMs(s.deletion.answers);
  return boundMs !== undefined && s.deletion.forMs >= boundMs;
}

/**
 * The API server refuses a new finalizer on a claim that is being deleted. A claim that has the volume of another node is not kept for the
 * sake of a second one.
 */
export function mayProtect(s: Known, { settings }: ClaimContext): boolean {
  const isAsked = settings.provisioningProtection !== 'off' && !isRecordedElsewhere(s);
  return isAsked && s.presence === 'live' && !s.isProtected;
}

/** Node deployment: the PersistentVolume of another node has the volume of the claim. One on this node is a second one. */
export function isRecordedElsewhere({ volume, created }: Pick<Known, 'volume' | 'created'>): boolean {
  return volume.kind === 'elsewhere' || created?.row === 'O12';
}

/** Another node was selected for the claim. */
export function isElsewhere({ claim }: Pick<Known, 'claim'>, { node }: Pick<ProvisionerSettings, 'node'>): boolean {
  const chosen = chosenNodeOf(claim);
  return node !== undefined && chosen !== '' && chosen !== node.name;
}

/**
 * The PersistentVolume is recorded, another node is selected, and the claim is not bound yet: the instance of that node does not keep the
 * PersistentVolumes of this one, and would make a second volume. The finalizer keeps it away.
 */
export function waitsForBinding(s: Known, { settings }: ClaimContext): boolean {
  return s.presence === 'live' && s.isProtected && isElsewhere(s, settings) && !isBound(s.claim);
}

/**
 * C63 is the task of this instance, whatever node is selected and whose finalizer the claim has: other nodes do not see the PersistentVolume. One
 * that all nodes see is the task of the instance that has the claim.
 */
export function losesRecordHere({ volume }: Known, { node }: ProvisionerSettings): boolean {
  if (volume.kind !== 'losing' || volume.record.spec?.nodeAffinity === undefined) return false;
  return !isOnOtherNode(volume.record, node);
}
