// SPDX-License-Identifier: Apache-2.0
/** Rows X71 and X73 to X75: a claim that is being deleted. */
import { driverOfProvisioningFinalizer } from '@csi-sidecars/provisioner';
import { type PersistentVolumeClaim, persistentVolumeClaims } from '@csi-sidecars/runtime';
import { volumeSnapshots } from '@csi-sidecars/volume';
import { provisionerSettings } from '../actors/leader-settings.ts';
import { valueOf } from '../cluster/reader.ts';
import { deletedMs, hasEnded, nameOf, objectName } from '../facts/objects.ts';
import { usersOf } from '../facts/users.ts';
import type { Risk, Since, Verdict } from '../verdict.ts';
import { byItself, change, type Context, describe, onChange, personAfter, verdictOf } from './context.ts';
import { type Deleted, deletedOf, shared, whole } from './deleting.ts';
import { volumeNameOf } from './records.ts';
import { snapshotVerdict } from './snapshots.ts';

const minuteMs = 60_000;

/** Ours keep a deleted claim for that long, unless a flag keeps it without a bound. */
const givenUpAfterMs = 5 * minuteMs;

export async function deletedClaim(context: Context, claim: PersistentVolumeClaim): Promise<Verdict> {
  const deleted = deletedOf('PersistentVolumeClaim', claim);
  return await whole(context, deleted, shared(deleted) ?? (await ofClaim(context, deleted)));
}

async function ofClaim(context: Context, deleted: Deleted<PersistentVolumeClaim>): Promise<Verdict> {
  const { object: claim, finalizers, since } = deleted;
  const [first] = finalizers;
  const next = describe('pvc', nameOf(claim), claim.metadata?.namespace);
  if (first?.kind === 'pvcProtection') return await usedClaim(context, claim, since);
  if (first?.kind === 'snapshotSource') return await snapshotsOf(context, claim, since);
  if (first?.kind === 'provisioning') return await unsettled(context, claim, { finalizer: first.name, since });
  if (first?.kind === 'source') return await sourceOf(context, claim, since);
  return verdictOf(
    ['X87', 4, 'other', 'forget'],
    `finalizer ${first?.name ?? ''} is not one that claims have: its owner has to take it off`,
    { since, next, thenActor: 'administrator', retry: { will: 'unknown', because: 'the owner is not known' } },
  );
}

async function sourceOf(context: Context, claim: PersistentVolumeClaim, since: Since | undefined): Promise<Verdict> {
  const next = describe('pvc', nameOf(claim), claim.metadata?.namespace);
  const needing = await dependents(context, claim);
  if (needing === undefined || needing.length > 0) {
    const which = needing === undefined ? '' : `: ${needing.join(', ')}`;
    return verdictOf(['X74', 3, 'csi-provisioner', 'release'], `a claim is still being made from it${which}`, {
      since,
      next,
      retry: byItself('when no claim needs it'),
    });
  }
  return verdictOf(
    ['X74', personAfter(context, since?.atMs, 10 * minuteMs), 'csi-provisioner', 'release'],
    'no claim of the namespace is being made from it, and csi-provisioner has not taken its finalizer off yet',
    { since, next, retry: byItself('csi-provisioner looks every few minutes') },
  );
}

async function usedClaim(
  { reader }: Context,
  claim: PersistentVolumeClaim,
  since: Since | undefined,
): Promise<Verdict> {
  const read = await usersOf(reader, claim);
  const namespace = claim.metadata?.namespace;
  if (read.kind !== 'found') {
    return verdictOf(
      ['X71', 5, 'user', 'protect'],
      'the claim is used as long as a pod names it; which pods do is not known',
      { since, next: describe('pvc', nameOf(claim), namespace) },
    );
  }
  const running = read.value.filter((pod) => !hasEnded(pod));
  const holding = running.length > 0 ? running : read.value;
  const [pod] = holding;
  if (pod === undefined) {
    return verdictOf(
      ['X71', 3, 'kube-controller-manager', 'protect'],
      'no pod names the claim any more: kube-controller-manager takes its finalizer off',
      {
        since,
        next: describe('pvc', nameOf(claim), namespace),
        retry: byItself('kube-controller-manager goes on by itself'),
      },
    );
  }
  const isEnding = holding.every((each) => (deletedMs(each) ?? 0) > reader.nowMs());
  const names = `pod ${holding.slice(0, 3).map(nameOf).join(', ')}${holding.length > 3 ? ` and ${holding.length - 3} more` : ''}`;
  const state = hasEnded(pod) ? ', which has ended,' : isEnding ? ', which is ending,' : '';
  return verdictOf(['X71', isEnding ? 3 : 4, 'user', 'protect'], `${names}${state} uses the claim`, {
    since,
    changes: [change('delete the pod', objectName('Pod', pod))],
    retry: onChange('when no pod uses the claim'),
    related: holding.slice(0, 10).map((each) => ({ ...objectName('Pod', each), why: 'uses the claim' })),
    next: describe('pod', nameOf(pod), namespace),
  });
}

/** Claims that are made from this one. Undefined: not known. */
async function dependents({ reader }: Context, claim: PersistentVolumeClaim): Promise<readonly string[] | undefined> {
  const namespace = claim.metadata?.namespace;
  const keep = (other: PersistentVolumeClaim): PersistentVolumeClaim | undefined => {
    const source = other.spec?.dataSourceRef ?? other.spec?.dataSource;
    const isOpen = (other.status?.phase ?? 'Pending') === 'Pending';
    return isOpen && source?.kind === 'PersistentVolumeClaim' && source.name === nameOf(claim) ? other : undefined;
  };
  const read = await reader.list(persistentVolumeClaims, { namespace, keep }, 'which claims are made from it');
  return valueOf(read)?.map((other) => `${namespace}/${nameOf(other)}`);
}

async function snapshotsOf(context: Context, claim: PersistentVolumeClaim, since: Since | undefined): Promise<Verdict> {
  const { reader } = context;
  const namespace = claim.metadata?.namespace;
  const read = await reader.list(volumeSnapshots, { namespace }, 'which snapshots are being taken of it');
  const risk: Risk = {
    level: 'possible',
    of: 'loss',
    ifYou: 'removeFinalizer',
    sentence: 'Removing the finalizer while a snapshot is being taken may leave a snapshot of nothing',
  };
  const next = describe('pvc', nameOf(claim), namespace);
  const open =
    valueOf(read)?.filter(
      ({ spec, status }) => spec?.source?.persistentVolumeClaimName === nameOf(claim) && status?.readyToUse !== true,
    ) ?? [];
  for (const snapshot of open) {
    const verdict = await snapshotVerdict(context, snapshot);
    if (verdict.exit !== 4) continue;
    return verdictOf(
      ['X75', 4, verdict.actor, 'protect'],
      `snapshot ${namespace}/${nameOf(snapshot)} of the claim cannot get ready: ${verdict.sentence} (${verdict.row})`,
      {
        since,
        risk,
        failure: verdict.failure,
        changes: [
          change('delete that snapshot, or mend what it waits for', objectName('VolumeSnapshot', snapshot)),
          ...(verdict.changes ?? []),
        ].slice(0, 2),
        retry: onChange('when the snapshot is ready or gone'),
        related: [{ ...objectName('VolumeSnapshot', snapshot), why: 'is being taken of the claim' }],
        next: describe('volumesnapshot', nameOf(snapshot), namespace),
      },
    );
  }
  const names =
    open.length === 0
      ? 'its finalizer is to be taken off'
      : `snapshot ${open.slice(0, 3).map(nameOf).join(', ')} is being taken of the claim`;
  return verdictOf(['X75', 3, 'snapshot-controller', 'protect'], names, {
    since,
    risk,
    next,
    retry: byItself('snapshot-controller goes on by itself'),
  });
}

async function unsettled(
  context: Context,
  claim: PersistentVolumeClaim,
  { finalizer, since }: { readonly finalizer: string; readonly since: Since | undefined },
): Promise<Verdict> {
  const { reader, options } = context;
  const driver = driverOfProvisioningFinalizer(finalizer) ?? '';
  const volume = await volumeNameOf(context, claim, driver);
  const { keepsUnsettled } = await provisionerSettings(reader, { driver, namespace: options.driverNamespace });
  const untilMs = since === undefined ? undefined : since.atMs + givenUpAfterMs;
  const isUnbounded = keepsUnsettled || (untilMs !== undefined && reader.nowMs() > untilMs);
  const bound = isUnbounded
    ? 'kept until it is known (P9)'
    : 'given up some minutes after the deletion at the latest (P7)';
  return verdictOf(
    ['X73', 3, 'csi-provisioner', 'release'],
    `csi-provisioner finds out whether volume ${volume} was made by ${driver === '' ? 'the driver' : driver}: ${bound}`,
    {
      since,
      retry: {
        will: 'yes',
        earliestMs: since?.atMs,
        latestMs: isUnbounded || untilMs === undefined ? undefined : untilMs + minuteMs,
        because: 'csi-provisioner calls CreateVolume again with the same name',
      },
      risk: {
        level: 'possible',
        of: 'leak',
        ifYou: 'removeFinalizer',
        sentence: `Removing the finalizer may leave volume ${volume} in the backend`,
      },
      next: describe('pvc', nameOf(claim), claim.metadata?.namespace),
    },
  );
}
