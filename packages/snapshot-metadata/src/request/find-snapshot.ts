// SPDX-License-Identifier: Apache-2.0
/** From the names of a request to the handle and the secrets of the driver. Everything is read afresh. */
import { type ApiClient, readSecret } from '@csi-sidecars/runtime';
import {
  classSecretOf,
  mayBindTo,
  snapshotAnnotations,
  snapshotSecrets,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  volumeSnapshotClasses,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { failureText } from './failure-text.ts';
import { Refusal, type RefusalRow } from './refusal.ts';

export interface SnapshotClients {
  readonly snapshots: Pick<ApiClient, 'get' | 'list'>;
  readonly core: Pick<ApiClient, 'get'>;
}

export interface SnapshotNames {
  readonly driverName: string;
  readonly namespace: string;
  readonly name: string;
}

export interface FoundSnapshot {
  readonly handle: string;
  readonly secrets: Readonly<Record<string, string>>;
}

/** Throws a Refusal. */
export async function findSnapshot(
  clients: SnapshotClients,
  names: SnapshotNames,
  signal: AbortSignal,
): Promise<FoundSnapshot> {
  const { driverName, namespace, name } = names;
  const { snapshots } = clients;
  const snapshot = await orUnavailable(
    { row: 'S1', what: `failed to get VolumeSnapshot '${namespace}/${name}'`, signal },
    () => snapshots.get(volumeSnapshots, { namespace, name }, { signal }),
  );
  const contentName = contentNameIn(snapshot, name);
  const content = await orUnavailable(
    { row: 'C1', what: `failed to get VolumeSnapshotContent '${contentName}'`, signal },
    () => snapshots.get(volumeSnapshotContents, { name: contentName }, { signal }),
  );
  const handle = handleIn(content, contentName);
  if (content.spec?.driver !== driverName) {
    const text = `VolumeSnapshot '${name}' does not belong to the CSI driver '${driverName}'`;
    throw new Refusal('C4', { code: 'InvalidArgument', message: text });
  }
  if (!mayBindTo(content.spec.volumeSnapshotRef, snapshot)) {
    const text = `VolumeSnapshotContent '${contentName}' is not bound to VolumeSnapshot '${namespace}/${name}'`;
    throw unavailable('C5', text);
  }
  return { handle, secrets: await secretsOf(clients, { snapshot, contentName, names }, signal) };
}

function contentNameIn({ status }: VolumeSnapshot, name: string): string {
  if (status?.readyToUse !== true) throw unavailable('S2', `the VolumeSnapshot is not yet ready, name: ${name}`);
  const { boundVolumeSnapshotContentName: contentName = '' } = status;
  if (contentName !== '') return contentName;
  const text = `boundVolumeSnapshotContentName is not set in VolumeSnapshot status, name: ${name}`;
  throw unavailable('S3', text);
}

function handleIn({ status }: VolumeSnapshotContent, name: string): string {
  if (status?.readyToUse !== true) {
    throw unavailable('C2', `the VolumeSnapshotContent is not yet ready, name: ${name}`);
  }
  const { snapshotHandle = '' } = status;
  // An empty handle would be a request for no snapshot at all.
  if (snapshotHandle !== '') return snapshotHandle;
  throw unavailable('C3', `snapshotHandle is not set in VolumeSnapshotContent status, name: ${name}`);
}

interface Secretive {
  readonly snapshot: VolumeSnapshot;
  readonly contentName: string;
  readonly names: SnapshotNames;
}

async function secretsOf(
  { snapshots, core }: SnapshotClients,
  { snapshot, contentName, names }: Secretive,
  signal: AbortSignal,
): Promise<FoundSnapshot['secrets']> {
  const { volumeSnapshotClassName: className } = snapshot.spec ?? {};
  const found =
    className === undefined
      ? await defaultClass(snapshots, names.driverName, signal)
      : await orUnavailable({ row: 'K1', what: `failed to get VolumeSnapshotClass '${className}'`, signal }, () =>
          snapshots.get(volumeSnapshotClasses, { name: className }, { signal }),
        );
  const ofBoth = {
    'volumesnapshotcontent.name': contentName,
    'volumesnapshot.namespace': names.namespace,
  };
  const tokens = { namespace: ofBoth, name: { ...ofBoth, 'volumesnapshot.name': names.name } };
  const reference = classSecretOf(found?.parameters ?? {}, snapshotSecrets.snapshotter, tokens);
  if (reference.kind === 'error') {
    const text = `invalid snapshotter secret parameters in VolumeSnapshotClass: ${reference.message}`;
    throw unavailable('K4', text);
  }
  const secret = reference.value;
  if (secret === undefined) return {};
  const what = `failed to get credentials: error getting secret ${secret.name} in namespace ${secret.namespace}`;
  return await orUnavailable({ row: 'X1', what: what, signal }, () => readSecret(core, secret, { signal }));
}

/** Undefined: there is none, so there are no secrets either. */
async function defaultClass(
  snapshots: SnapshotClients['snapshots'],
  driverName: string,
  signal: AbortSignal,
): Promise<VolumeSnapshotClass | undefined> {
  const { items } = await orUnavailable({ row: 'K2', what: 'failed to list VolumeSnapshotClasses', signal }, () =>
    snapshots.list(volumeSnapshotClasses, {}, { signal }),
  );
  const [first, ...others] = items.filter(
    ({ driver, metadata }) =>
      driver === driverName && metadata?.annotations?.[snapshotAnnotations.isDefaultClass] === 'true',
  );
  if (others.length === 0) return first;
  const text = `multiple default VolumeSnapshotClasses are set for the CSI driver '${driverName}'`;
  throw unavailable('K3', text);
}

interface Reading {
  readonly row: RefusalRow;
  readonly what: string;
  readonly signal: AbortSignal;
}

async function orUnavailable<T>({ row, what, signal }: Reading, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw unavailable(row, `${what}: ${failureText(error, signal)}`, { cause: error });
  }
}

function unavailable(row: RefusalRow, message: string, options?: ErrorOptions): Refusal {
  return new Refusal(row, { code: 'Unavailable', message }, options);
}
