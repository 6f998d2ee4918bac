// SPDX-License-Identifier: Apache-2.0
/** Rows X60 to X69: a bound claim that wants another size, or other attributes. Undefined: it has what it wants. */
import { type PersistentVolumeClaim, pods, storageClasses, volumeAttributesClasses } from '@csi-sidecars/runtime';
import { leaderOf } from '../actors/leader.ts';
import { mayAccount } from '../actors/rights.ts';
import { valueOf } from '../cluster/reader.ts';
import { retryOf } from '../facts/events.ts';
import { classNameOf, hasEnded, nameOf, objectName, timeOf } from '../facts/objects.ts';
import { compareSizes } from '../facts/quantities.ts';
import { usersOf } from '../facts/users.ts';
import type { Verdict } from '../verdict.ts';
import {
  byItself,
  change,
  type Context,
  describe,
  getYaml,
  onChange,
  personAfter,
  recordedFailure,
  verdictOf,
} from './context.ts';

const minuteMs = 60_000;
const offlineOnly = /in use|published|attached|offline/i;

export async function growing(
  context: Context,
  claim: PersistentVolumeClaim,
  driver: string,
): Promise<Verdict | undefined> {
  const { reader } = context;
  const { status, spec, metadata } = claim;
  const wanted = spec?.resources?.requests?.['storage'] ?? '0';
  const has = status?.capacity?.['storage'] ?? '0';
  const state = status?.allocatedResourceStatuses?.['storage'];
  const onNode =
    state === 'NodeResizePending' ||
    state === 'NodeResizeInProgress' ||
    status?.conditions?.some(({ type, status: value }) => type === 'FileSystemResizePending' && value === 'True') ===
      true;
  if (compareSizes(wanted, has) <= 0 && !onNode) return undefined;
  const subject = objectName('PersistentVolumeClaim', claim);
  const field = 'spec.resources.requests.storage';
  const next = describe('pvc', nameOf(claim), metadata?.namespace);
  const className = classNameOf(claim) ?? '';
  const storageClass =
    className === ''
      ? undefined
      : valueOf(await reader.get(storageClasses, { name: className }, 'whether the class allows expansion'));
  if (storageClass !== undefined && storageClass.allowVolumeExpansion !== true) {
    return verdictOf(['X60', 4, 'administrator', 'grow'], `class ${className} does not allow that volumes grow`, {
      changes: [
        change('allow it, if the driver can', objectName('StorageClass', storageClass), 'allowVolumeExpansion'),
      ],
      retry: onChange('when the class allows it'),
      next: getYaml('storageclass', className),
    });
  }
  if (state === 'ControllerResizeInfeasible' || state === 'NodeResizeInfeasible') {
    return verdictOf(
      ['X61', 4, 'user', 'grow'],
      `the driver cannot make a volume of ${wanted}; any size above ${has} may be asked for`,
      {
        changes: [change(`ask for another size above ${has}`, subject, field)],
        retry: onChange('when the request changes'),
        failure: await resizeFailure(context, claim),
        next,
      },
    );
  }
  const users = valueOf(await usersOf(reader, claim))?.filter((pod) => !hasEnded(pod)) ?? [];
  if (onNode) {
    const sinceMs = conditionMs(claim, 'FileSystemResizePending');
    const since = sinceMs === undefined ? undefined : { atMs: sinceMs };
    if (users.length === 0)
      return verdictOf(['X62', 3, 'user', 'grow'], 'the volume has grown; its file system grows when a pod uses it', {
        since,
        retry: onChange('when a pod uses the claim'),
        next,
      });
    const node = users[0]?.spec?.nodeName;
    return verdictOf(
      ['X63', personAfter(context, sinceMs, 10 * minuteMs), 'kubelet', 'grow'],
      `the volume has grown; kubelet grows its file system on ${node ?? 'a node'}`,
      { since, node, retry: byItself('kubelet tries again'), next, failure: await resizeFailure(context, claim) },
    );
  }
  const failure = await resizeFailure(context, claim);
  if (failure !== undefined) {
    const retry = retryOf(failure);
    const since = failure.firstMs === undefined ? undefined : { atMs: failure.firstMs };
    if (users.length > 0 && (failure.code === 9 || failure.code === undefined) && offlineOnly.test(failure.text)) {
      return verdictOf(
        ['X64', 4, 'user', 'grow'],
        `the driver grows volumes only while no pod uses them: ${users.slice(0, 3).map(nameOf).join(', ')}`,
        {
          failure,
          retry,
          since,
          next,
          changes: [
            change('stop the pods that use it', {
              kind: 'Pod',
              namespace: metadata?.namespace,
              name: nameOf(users[0]!),
            }),
          ],
        },
      );
    }
    return verdictOf(
      ['X65', failure.count >= 10 ? 4 : 3, 'driver', 'grow'],
      `the driver has failed to grow the volume ${failure.count === 1 ? 'once' : `${failure.count} times`}`,
      { failure, retry, since, next },
    );
  }
  return await withoutTrace(context, claim, driver);
}

async function withoutTrace(context: Context, claim: PersistentVolumeClaim, driver: string): Promise<Verdict> {
  const { reader, options } = context;
  const sinceMs = changedMs(claim);
  const exit = personAfter(context, sinceMs, 5 * minuteMs);
  const shared = {
    since: sinceMs === undefined ? undefined : { atMs: sinceMs },
    next: describe('pvc', nameOf(claim), claim.metadata?.namespace),
    retry: byItself('csi-resizer goes on by itself'),
  };
  if (exit === 3) return verdictOf(['X66', 3, 'csi-resizer', 'grow'], 'csi-resizer has not begun yet', shared);
  const leader = await leaderOf(reader, { program: 'csi-resizer', driver, namespace: options.driverNamespace });
  const account =
    leader.kind === 'lives' && leader.pod !== undefined
      ? { namespace: leader.namespace, name: leader.pod.spec?.serviceAccountName ?? 'default' }
      : undefined;
  const may = account && (await mayAccount(reader, account, { verb: 'list', group: '', resource: 'pods' }));
  const why =
    may === false
      ? 'its account may not list pods, without which it does nothing'
      : 'often its account may not list pods, or volumeattributesclasses';
  return verdictOf(['X66', 4, 'csi-resizer', 'grow'], `csi-resizer does nothing: ${why}`, {
    ...shared,
    thenActor: 'administrator',
    findings: may === false ? ['rights-7'] : [],
    changes: [change(`let csi-resizer list ${pods.plural}`, undefined)],
  });
}

async function resizeFailure({ reader, options }: Context, claim: PersistentVolumeClaim): Promise<Verdict['failure']> {
  return await recordedFailure({ reader, options }, objectName('PersistentVolumeClaim', claim), [
    'VolumeResizeFailed',
    'FileSystemResizeFailed',
    'ExternalExpandingFailed',
  ]);
}

function conditionMs({ status }: PersistentVolumeClaim, type: string): number | undefined {
  return timeOf(status?.conditions?.find((each) => each.type === type)?.lastTransitionTime);
}

/** When a person has last changed the spec, as far as the server records it. */
function changedMs({ metadata }: PersistentVolumeClaim): number | undefined {
  const times = (metadata?.managedFields ?? [])
    .filter(({ subresource = '', operation }) => subresource === '' && operation !== undefined)
    .map(({ time }) => timeOf(time))
    .filter((ms) => ms !== undefined);
  return times.length === 0 ? timeOf(metadata?.creationTimestamp) : Math.max(...times);
}

export async function modifying(
  context: Context,
  claim: PersistentVolumeClaim,
  driver: string,
): Promise<Verdict | undefined> {
  const wanted = claim.spec?.volumeAttributesClassName ?? '';
  const current = claim.status?.currentVolumeAttributesClassName ?? '';
  if (wanted === '' || wanted === current) return undefined;
  const subject = objectName('PersistentVolumeClaim', claim);
  const next = describe('pvc', nameOf(claim), claim.metadata?.namespace);
  const { status: state, targetVolumeAttributesClassName: target } = claim.status?.modifyVolumeStatus ?? {};
  const failure = await recordedFailure(context, objectName('PersistentVolumeClaim', claim), ['VolumeModifyFailed']);
  const read = await context.reader.get(
    volumeAttributesClasses,
    { name: wanted },
    `whether VolumeAttributesClass ${wanted} fits`,
  );
  const why =
    read.kind === 'absent'
      ? `VolumeAttributesClass ${wanted} does not exist`
      : read.kind === 'found' && read.value.driverName !== driver
        ? `VolumeAttributesClass ${wanted} is of driver ${read.value.driverName}, and the volume of ${driver}`
        : state === 'Infeasible'
          ? `the driver cannot give the volume the attributes of ${target ?? wanted}`
          : undefined;
  if (why !== undefined) {
    return verdictOf(['X67', 4, 'user', 'modify'], why, {
      failure,
      next,
      changes: [change('name another VolumeAttributesClass', subject, 'spec.volumeAttributesClassName')],
      retry: onChange('when the claim names another class'),
    });
  }
  if (state === undefined && failure === undefined) {
    return verdictOf(
      ['X68', 4, 'administrator', 'modify'],
      `nothing has begun to give the volume the attributes of ${wanted}: the gate VolumeAttributesClass of csi-resizer, its right to list volumeattributesclasses, or MODIFY_VOLUME of the driver is missing`,
      {
        next,
        thenActor: 'csi-resizer',
        changes: [change('the arguments and the rights of csi-resizer', undefined)],
        findings: await modifyRights(context, driver),
        retry: onChange('when csi-resizer can work on it'),
      },
    );
  }
  return verdictOf(
    ['X69', 3, 'csi-resizer', 'modify'],
    `csi-resizer gives the volume the attributes of ${target ?? wanted}`,
    {
      failure,
      thenActor: 'driver',
      next,
      retry: failure === undefined ? byItself('csi-resizer goes on by itself') : retryOf(failure),
    },
  );
}

async function modifyRights({ reader, options }: Context, driver: string): Promise<readonly string[]> {
  const leader = await leaderOf(reader, { program: 'csi-resizer', driver, namespace: options.driverNamespace });
  if (leader.kind !== 'lives' || leader.pod === undefined) return [];
  const account = { namespace: leader.namespace, name: leader.pod.spec?.serviceAccountName ?? 'default' };
  const may = await mayAccount(reader, account, {
    verb: 'list',
    group: 'storage.k8s.io',
    resource: 'volumeattributesclasses',
  });
  return may === false ? ['rights-8'] : [];
}
