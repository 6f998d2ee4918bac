// SPDX-License-Identifier: Apache-2.0
/** Rows X25 to X29: csi-provisioner has tried, and its newest event says what failed. */
import type { PersistentVolumeClaim, StorageClass } from '@csi-sidecars/runtime';
import { retryOf } from '../facts/events.ts';
import { classNameOf, nameOf, objectName, selectedNodeOf } from '../facts/objects.ts';
import type { Change, Failure, Risk, Verdict } from '../verdict.ts';
import { volumeNameOf } from './records.ts';
import { change, type Context, describe, getYaml, recordedFailure, verdictOf } from './context.ts';

const minutesMs = 60_000;

/** Codes by which a driver says that the same request will fail again. */
const refusals: ReadonlySet<number | undefined> = new Set([3, 5, 7, 9, 11, 12, 16]);
const resourceExhausted = 8;
const aborted = 10;

export async function failedProvisioning(
  context: Context,
  claim: PersistentVolumeClaim,
  { driver, storageClass }: { readonly driver: string | undefined; readonly storageClass: StorageClass | undefined },
): Promise<Verdict | undefined> {
  const failure = await recordedFailure(context, objectName('PersistentVolumeClaim', claim), [
    'ProvisioningFailed',
    'ProvisioningGivenUp',
  ]);
  if (failure === undefined) return undefined;
  const nowMs = context.reader.nowMs();
  const retry = retryOf(failure);
  const since = failure.firstMs === undefined ? undefined : { atMs: failure.firstMs };
  const shared = { failure, retry, since, next: describe('pvc', nameOf(claim), claim.metadata?.namespace) };
  const lastsMs = failure.firstMs === undefined ? 0 : nowMs - failure.firstMs;
  const times = failure.count === 1 ? 'once' : `${failure.count} times`;
  const leak = leakOf(await volumeNameOf(context, claim, driver));
  const { code } = failure;
  if (code === undefined) {
    return verdictOf(['X29', 4, 'administrator', 'provision'], 'csi-provisioner refuses before it calls the driver', {
      ...shared,
      thenActor: 'csi-provisioner',
      changes: [classChange(claim, 'what the message names')],
    });
  }
  if (refusals.has(code)) {
    return verdictOf(['X25', 4, 'administrator', 'provision'], `the driver has refused CreateVolume ${times}`, {
      ...shared,
      thenActor: 'csi-provisioner',
      changes: refusedChanges(claim, failure),
      next: getYaml('storageclass', classNameOf(claim)) ?? shared.next,
    });
  }
  if (code === resourceExhausted) {
    const isScheduled = storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
    const hasNodes = isScheduled && selectedNodeOf(claim) !== undefined;
    return hasNodes
      ? verdictOf(
          ['X26', 3, 'kube-scheduler', 'provision'],
          'the storage of the selected node is exhausted: the scheduler chooses another node',
          shared,
        )
      : verdictOf(['X26', 4, 'administrator', 'provision'], 'the storage is exhausted', {
          ...shared,
          thenActor: 'csi-provisioner',
          changes: [
            {
              what: `make room in the storage system, or ask for less`,
              object: objectName('PersistentVolumeClaim', claim),
              field: 'spec.resources.requests.storage',
            },
          ],
        });
  }
  const risk: Risk = { ...leak, of: 'leak' };
  if (code === aborted) {
    const isLong = lastsMs > 5 * minutesMs;
    const sentence = 'an earlier call for the volume has not ended';
    return isLong
      ? verdictOf(['X27', 4, 'storage', 'provision'], sentence, {
          ...shared,
          thenActor: 'administrator',
          risk,
          changes: [change('what the driver and its storage system wait for')],
        })
      : verdictOf(['X28', 3, 'driver', 'provision'], sentence, { ...shared, risk });
  }
  const isLong = failure.count >= 10 && lastsMs >= 30 * minutesMs;
  const sentence = `CreateVolume has failed ${times}, and it is open whether ${driver ?? 'the driver'} made the volume`;
  const findings = throttled.test(failure.text) ? ['load-1'] : [];
  return verdictOf(['X28', isLong ? 4 : 3, 'driver', 'provision'], sentence, {
    ...shared,
    risk,
    findings,
    ...(isLong && { thenActor: 'administrator' as const }),
  });
}

const throttled = /\b429\b|throttl|RateLimit|RequestLimitExceeded/i;

function refusedChanges(claim: PersistentVolumeClaim, { code }: Failure): readonly Change[] {
  const parameters = classChange(claim, 'make a new class with other parameters: those of a class cannot be changed');
  if (code === 16 || code === 7)
    return [change("the driver's credentials or rights in the storage system"), parameters];
  return [parameters, change('what the message names in the storage system')];
}

function classChange(claim: PersistentVolumeClaim, what: string): Change {
  return { what, object: { kind: 'StorageClass', name: classNameOf(claim) ?? '' }, field: 'parameters' };
}

/** Upstream's provisioner forgets a claim that is deleted while a call is open. */
function leakOf(volumeName: string): Risk {
  return {
    level: 'possible',
    of: 'leak',
    ifYou: 'delete',
    sentence: `Deleting the claim now may leave volume ${volumeName} in the backend`,
  };
}
