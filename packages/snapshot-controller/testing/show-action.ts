// SPDX-License-Identifier: Apache-2.0
/** An action of the loops of snapshots and groups as one line, with what it carries. */
import type { Outcome } from '@csi-sidecars/runtime';
import { snapshotFinalizers } from '@csi-sidecars/volume';
import type { Action as GroupAction } from '../src/group-snapshot/state.ts';
import type { Action as SnapshotAction } from '../src/snapshot/state.ts';

const shortNames = new Map(Object.entries(snapshotFinalizers).map(([short, name]) => [name as string, short]));

function showFinalizers(finalizers: readonly string[]): string {
  return finalizers.map((finalizer) => shortNames.get(finalizer) ?? finalizer).join(' ');
}

export function showOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'retry':
      return `retry: ${outcome.cause.message}`;
    case 'postpone':
      return `postpone: ${outcome.reason}`;
    case 'requeueAfter':
      return `requeueAfter ${outcome.afterMs}`;
    case 'done':
    case 'dropped':
      return outcome.kind;
  }
}

/** `S10 prepare asSource bound, class gold`. */
export function showAction(action: SnapshotAction | GroupAction): string {
  return `${action.row} ${showEffect(action)}`;
}

function showEffect(action: SnapshotAction | GroupAction): string {
  switch (action.kind) {
    case 'begin':
      return `begin ${action.operations.join(' ')}, driver '${action.driver}'`;
    case 'prepare': {
      const { className } = 'preparation' in action ? action.preparation : action;
      const finalizers = 'preparation' in action ? ` ${showFinalizers(action.preparation.finalizers)}` : '';
      return `prepare${finalizers}${className === undefined ? '' : `, class ${className}`}`;
    }
    case 'saveError': {
      const { reason, message, readiness } = action.problem;
      return `saveError ${reason}, ${readiness}: ${message}`;
    }
    case 'askContent':
      return `askContent ${action.name}`;
    case 'askGroup':
      return `askGroup ${action.namespace}/${action.name}`;
    case 'removeFinalizers':
      return `removeFinalizers ${showFinalizers(action.finalizers)}`;
    case 'deleteMembers':
      return `deleteMembers ${action.members.map(({ metadata }) => metadata?.name).join(' ')}`;
    case 'conclude': {
      const events = action.events.map(({ type, reason, message }) => `; ${type} ${reason}: ${message}`);
      return showOutcome(action.outcome) + events.join('');
    }
    case 'adopt':
    case 'bind':
    case 'confirm':
    case 'createContent':
    case 'deleteContent':
    case 'leaveClaim':
    case 'listClaims':
    case 'listRestores':
    case 'markContent':
    case 'protectClaim':
    case 'releaseClaim':
    case 'removeFinalizer':
    case 'saveMembers':
    case 'saveStatus':
      return action.kind;
  }
}
