// SPDX-License-Identifier: Apache-2.0
/** Whether a leftover may be removed. Pure; first match wins. Row ids are those of the provisioner's page. */
import * as messages from './messages.ts';
import type { Capacity, ClaimFinalizer, Decision, Row, SourceFinalizer, Subject, VolumeFinalizer } from './state.ts';

export function decide(subject: Subject): Decision {
  switch (subject.kind) {
    case 'claimFinalizer':
      return decideClaim(subject);
    case 'claimAnnotation':
      return safe('U5', messages.annotationAlone);
    case 'sourceFinalizer':
      return decideSource(subject);
    case 'volumeFinalizer':
      return decideVolume(subject);
    case 'capacity':
      return decideCapacity(subject);
  }
}

function decideClaim({ volumeName, record, node, binding, presence }: ClaimFinalizer): Decision {
  if (record === 'recorded') {
    // Until the claim is bound, the finalizer keeps the instances of other nodes away: they do not see the PersistentVolume.
    const isKept = binding === 'open' && node !== undefined && node.selected === 'no' && presence === 'live';
    if (isKept) return { row: 'U15', verdict: 'manual', reason: messages.notBound(volumeName) };
    return safe('U1', messages.recorded(volumeName));
  }
  if (node?.presence === 'gone') return unsettled('U2', messages.nodeGone(volumeName, node), volumeName);
  if (presence === 'deleted') return unsettled('U3', messages.deletedUnsettled(volumeName), volumeName);
  return unsettled('U4', messages.liveUnsettled(volumeName), volumeName);
}

function decideSource({ neededBy, driver, presence }: SourceFinalizer): Decision {
  if (neededBy !== undefined) {
    // A user waits for a source that is being deleted.
    const verdict = presence === 'deleted' ? 'manual' : 'inUse';
    return { row: 'U6', verdict, reason: messages.sourceNeeded(neededBy) };
  }
  if (driver === '') return { row: 'U7', verdict: 'manual', reason: messages.sourceOfUnknown };
  return safe('U8', messages.sourceFree);
}

function decideVolume({ policy, phase, presence, handle, reachable }: VolumeFinalizer): Decision {
  if (policy !== 'Delete') {
    // Without the finalizer the object would go, and with it the handle.
    if (presence === 'deleted') return unsettled('U10', messages.lastRecord(handle), handle);
    return safe('U9', reachable === 'yes' ? messages.kept(policy) : messages.keptUnreachable(policy));
  }
  const isOver = presence === 'deleted' || phase === 'Released' || phase === 'Failed';
  if (!isOver) return { row: 'U12', verdict: 'inUse', reason: messages.willBeDeleted };
  const reason = reachable === 'yes' ? messages.waitsForDeletion(handle) : messages.waitsUnreachable(handle);
  return { row: 'U11', verdict: 'manual', reason, volume: handle };
}

function decideCapacity({ instance, owner, installed }: Capacity): Decision {
  if (instance === 'foreign') return { row: 'U13', verdict: 'inUse', reason: messages.managedByOthers };
  if (instance === 'ofGoneNode') return safe('U14', messages.instanceGone);
  if (owner === 'some') return { row: 'U13', verdict: 'inUse', reason: messages.ownerRemovesIt };
  if (installed === 'yes') return { row: 'U13', verdict: 'inUse', reason: messages.stillInstalled };
  return safe('U14', messages.notInstalled);
}

function safe(row: Row, reason: string): Decision {
  return { row, verdict: 'safe', reason };
}

function unsettled(row: Row, reason: string, volume: string): Decision {
  return { row, verdict: 'unsettled', reason, volume };
}
