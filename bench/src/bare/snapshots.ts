// SPDX-License-Identifier: Apache-2.0
/** The least that csi-snapshotter and snapshot-controller do, as in `programs.ts`. */
import { finalizersWith, finalizersWithout } from '@csi-sidecars/runtime';
import {
  snapshotAnnotations as marks,
  snapshotFinalizers as finalizers,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import {
  afterConflicts,
  changeFinalizers,
  type Claim,
  claims,
  firstTimes,
  inBackground,
  pathOf,
  record,
  type Tools,
  type Volume,
  volumes,
  type With,
} from './tools.ts';

type Snapshot = With<VolumeSnapshot>;
type Content = With<VolumeSnapshotContent>;
const snapshotApi = '/apis/snapshot.storage.k8s.io/v1';
const snapshots = `${snapshotApi}/volumesnapshots`;
const contents = `${snapshotApi}/volumesnapshotcontents`;

export async function snapshotter({ api, call, driver }: Tools): Promise<void> {
  const isFirst = firstTimes();
  const cut = async (content: Content): Promise<void> => {
    const path = pathOf(contents, content.metadata);
    const mark = (value: string | null): Promise<unknown> =>
      api.request('PATCH', path, { metadata: { annotations: { [marks.beingCreated]: value } } });
    await mark('yes');
    const { snapshot } = await call<{ snapshot: { snapshot_id: string; size_bytes: string } }>(
      'Controller/CreateSnapshot',
      {
        name: content.metadata.name.replace('snapcontent', 'snapshot'),
        source_volume_id: content.spec?.source?.volumeHandle,
      },
    );
    const { snapshot_id: snapshotHandle, size_bytes } = snapshot;
    const status = {
      snapshotHandle,
      readyToUse: true,
      creationTime: Date.now() * 1e6,
      restoreSize: Number(size_bytes),
    };
    await api.request('PATCH', `${path}/status`, { status });
    await mark(null);
  };
  const remove = async (content: Content): Promise<void> => {
    const path = pathOf(contents, content.metadata);
    await call('Controller/DeleteSnapshot', { snapshot_id: content.status?.snapshotHandle });
    const status = { snapshotHandle: null, readyToUse: null, creationTime: null, restoreSize: null };
    const cleared = await api.request<Content>('PATCH', `${path}/status`, { status });
    await changeFinalizers(api, { path, object: cleared }, (now) => finalizersWithout(now, finalizers.content));
  };
  await api.watch<Content>(contents, (content, isGone) => {
    const { metadata, spec, status } = content;
    if (isGone || spec?.driver !== driver) return;
    if (metadata.deletionTimestamp !== undefined) {
      if (isFirst('delete', metadata)) inBackground(() => remove(content));
    } else if (status === undefined && isFirst('cut', metadata)) inBackground(() => cut(content));
  });
}

export async function snapshotController({ api }: Tools): Promise<void> {
  const isFirst = firstTimes();
  const known = {
    volumes: new Map<string, Volume>(),
    claims: new Map<string, Claim>(),
    snapshots: new Map<string, Snapshot>(),
  };
  const protect = async (key: string, isProtected: boolean): Promise<Claim> => {
    const claim = known.claims.get(key)!;
    const path = pathOf(claims, claim.metadata);
    const write = (now: Claim): Promise<Claim> => {
      const others = now.metadata.finalizers?.filter((name) => name !== finalizers.claim) ?? [];
      const wanted = isProtected ? [...others, finalizers.claim] : others;
      return api.request<Claim>('PUT', path, { ...now, metadata: { ...now.metadata, finalizers: wanted } });
    };
    return await afterConflicts(api, { path, object: claim }, write);
  };
  const claimOf = ({ metadata, spec }: Snapshot): string =>
    `${metadata.namespace}/${spec?.source?.persistentVolumeClaimName}`;
  const saveStatus = (snapshot: Snapshot, status: object): Promise<unknown> =>
    api.request('PATCH', `${pathOf(snapshots, snapshot.metadata)}/status`, { status });
  const begin = async (snapshot: Snapshot): Promise<void> => {
    const { name, namespace, uid } = snapshot.metadata;
    const path = pathOf(snapshots, snapshot.metadata);
    await changeFinalizers(api, { path, object: snapshot }, (now) =>
      finalizersWith(now, finalizers.bound, finalizers.asSource),
    );
    const claim = await protect(claimOf(snapshot), true);
    const csi = known.volumes.get(claim.spec?.volumeName ?? '')?.spec?.csi;
    const content = `snapcontent-${uid}`;
    await api.request('POST', contents, {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotContent',
      metadata: { name: content, finalizers: [finalizers.content] },
      spec: {
        driver: csi?.driver,
        deletionPolicy: 'Delete',
        source: { volumeHandle: csi?.volumeHandle },
        volumeSnapshotClassName: snapshot.spec?.volumeSnapshotClassName,
        volumeSnapshotRef: { kind: 'VolumeSnapshot', name, namespace, uid },
      },
    });
    await saveStatus(snapshot, { boundVolumeSnapshotContentName: content, readyToUse: false });
  };
  const finish = async (snapshot: Snapshot, { status }: Content): Promise<void> => {
    const creationTime = new Date(Number(status?.creationTime) / 1e6).toISOString();
    await saveStatus(snapshot, { readyToUse: true, creationTime, restoreSize: String(status?.restoreSize) });
    await protect(claimOf(snapshot), false);
    await record(api, snapshot, { kind: 'VolumeSnapshot', reason: 'SnapshotReady' });
  };
  const remove = async ({ metadata }: Snapshot): Promise<void> => {
    const path = `${contents}/snapcontent-${metadata.uid}`;
    await api.request('PATCH', path, { metadata: { annotations: { [marks.beingDeleted]: 'yes' } } });
    await api.request('DELETE', path);
  };
  await api.watch<Volume>(volumes, (volume) => void known.volumes.set(volume.metadata.name, volume));
  await api.watch<Claim>(
    claims,
    (claim) => void known.claims.set(`${claim.metadata.namespace}/${claim.metadata.name}`, claim),
  );
  await api.watch<Snapshot>(snapshots, (snapshot, isGone) => {
    const { metadata } = snapshot;
    if (isGone) return void known.snapshots.delete(metadata.uid);
    known.snapshots.set(metadata.uid, snapshot);
    if (metadata.deletionTimestamp !== undefined) {
      if (isFirst('delete', metadata)) inBackground(() => remove(snapshot));
    } else if (isFirst('begin', metadata)) inBackground(() => begin(snapshot));
  });
  await api.watch<Content>(contents, (content, isGone) => {
    const snapshot = known.snapshots.get(content.spec?.volumeSnapshotRef?.uid ?? '');
    if (snapshot === undefined) return;
    const path = pathOf(snapshots, snapshot.metadata);
    const free = (now: Snapshot) => finalizersWithout(now, finalizers.bound, finalizers.asSource);
    if (isGone) inBackground(() => changeFinalizers(api, { path, object: snapshot }, free));
    else if (content.status?.readyToUse === true && isFirst('finish', snapshot.metadata)) {
      inBackground(() => finish(snapshot, content));
    }
  });
}
