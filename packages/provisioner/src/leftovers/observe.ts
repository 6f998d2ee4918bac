// SPDX-License-Identifier: Apache-2.0
/** From one pass over the cluster to its leftovers. Pure. */
import type { CSIStorageCapacity, KubeObject, PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { driversOn, selectsNode, toVolumeName, translateInTree, type VolumeNodeAffinity } from '@csi-sidecars/volume';
import { isOfNode, managedByOf } from '../capacity/managed-by.ts';
import { centralManagedBy, isBeingDeleted, labels } from '../capacity/object.ts';
import { chosenNodeOf, uidOf } from '../claim/claim.ts';
import { annotationsOf } from '../metadata.ts';
import {
  annotations,
  cloningProtection,
  driverOfProvisioningFinalizer,
  instanceAnnotation,
  snapshotSourceProtection,
  volumeFinalizer,
} from '../names.ts';
import { type SourceKey, type SourceRef, referencedBy, sourceKey } from '../source/source.ts';
import { isPending } from '../source/protection/need.ts';
import { isOurs as isOurVolume } from '../volume/volume.ts';
import { decide } from './decide.ts';
import type {
  Capacity,
  ClaimAnnotation,
  ClaimFinalizer,
  Cluster,
  Leftover,
  LeftoverOptions,
  SettlingNode,
  SourceFinalizer,
  Subject,
  VolumeFinalizer,
} from './state.ts';

/** Sorted as the cluster lists them: claims, snapshots, PersistentVolumes, CSIStorageCapacities. */
export function leftoversOf(cluster: Cluster, options: LeftoverOptions): readonly Leftover[] {
  const view = viewOf(cluster, options);
  const subjects: readonly Subject[] = [
    ...cluster.claims.flatMap((claim) => [...finalizersOf(claim, view), ...sourceOf(claim, view)]),
    ...cluster.snapshots.flatMap((snapshot) => snapshotOf(snapshot, view)),
    ...cluster.volumes.flatMap((volume) => volumeOf(volume, view)),
    ...cluster.capacities.flatMap((capacity) => capacityOf(capacity, view)),
  ];
  return subjects.map((subject) => ({ subject, decision: decide(subject) }));
}

/** The cluster by what is looked up in it. */
interface View {
  readonly options: LeftoverOptions;
  readonly volumes: ReadonlyMap<string, PersistentVolume>;
  readonly nodeNames: ReadonlySet<string>;
  /** Whether a node can reach a volume with these terms. Remembered, because many volumes have the same. */
  readonly isReachable: (terms: Terms | undefined) => boolean;
  /** A claim that may need the source. */
  readonly needs: ReadonlyMap<SourceKey, string>;
  /** The driver of a content. */
  readonly drivers: ReadonlyMap<string, string | undefined>;
  /** Labels of the instances of nodes that are there. */
  readonly instances: ReadonlySet<string>;
  /** Drivers that some node has. */
  readonly installed: ReadonlySet<string>;
}

function viewOf(cluster: Cluster, options: LeftoverOptions): View {
  const needing = cluster.claims.filter((claim) => isPending(claim) || protectionsOf(claim).length > 0);
  return {
    options,
    volumes: new Map(cluster.volumes.map((volume) => [nameOf(volume), volume])),
    nodeNames: new Set(cluster.nodes.map(nameOf)),
    isReachable: reachability(cluster),
    needs: new Map(
      needing.flatMap((claim) => {
        const source = referencedBy(claim);
        return source === undefined ? [] : [[sourceKey(source), `${claim.metadata?.namespace}/${nameOf(claim)}`]];
      }),
    ),
    drivers: new Map(cluster.contents.map((content) => [nameOf(content), content.spec?.driver])),
    instances: new Set([...cluster.nodes, ...cluster.csiNodes].map((node) => managedByOf(nameOf(node)))),
    installed: new Set(cluster.csiNodes.flatMap((node) => driversOn(node).map(({ name }) => name))),
  };
}

type Terms = NonNullable<VolumeNodeAffinity['required']>['nodeSelectorTerms'];

function reachability({ nodes }: Cluster): View['isReachable'] {
  const known = new Map<string, boolean>();
  return (terms) => {
    if (terms === undefined) return true;
    const key = JSON.stringify(terms);
    const found =
      known.get(key) ?? nodes.some((node) => selectsNode(terms, { name: nameOf(node), labels: node.metadata?.labels }));
    known.set(key, found);
    return found;
  };
}

/** The provisioning finalizers of any driver. */
function protectionsOf({ metadata }: KubeObject): readonly string[] {
  return (metadata?.finalizers ?? []).filter((finalizer) => driverOfProvisioningFinalizer(finalizer) !== undefined);
}

function finalizersOf(claim: PersistentVolumeClaim, view: View): readonly (ClaimFinalizer | ClaimAnnotation)[] {
  const protections = protectionsOf(claim).map((finalizer) => ({ finalizer, driver: ownerOf(claim, finalizer) }));
  const found = protections.flatMap(({ finalizer, driver }): readonly ClaimFinalizer[] => {
    if (!isWanted(driver, view)) return [];
    const name = toVolumeName(uidOf(claim), {
      prefix: view.options.volumeNamePrefix,
      uuidLength: view.options.volumeNameUuidLength,
    });
    const volumeName = name.kind === 'ok' ? name.value : `pvc-${uidOf(claim)}`;
    const record = recordOf(claim, { driver, names: [volumeName, `pvc-${uidOf(claim)}`] }, view);
    const node = settlingNodeOf(claim, driver, view);
    const binding = (claim.spec?.volumeName ?? '') === '' ? 'open' : 'bound';
    return [{ kind: 'claimFinalizer', ...base(claim, driver), finalizer, volumeName, record, node, binding }];
  });
  const alone = Object.keys(annotationsOf(claim)).flatMap((annotation): readonly ClaimAnnotation[] => {
    // The annotation has the name of the finalizer; there was none that named no driver.
    const driver = driverOfProvisioningFinalizer(annotation) || undefined;
    const isBeside = protections.some((protection) => protection.driver === driver);
    const hasMeaning = driver === undefined || isBeside || !isWanted(driver, view);
    return hasMeaning ? [] : [{ kind: 'claimAnnotation', ...base(claim, driver), annotation }];
  });
  return [...found, ...alone];
}

/** The driver whose finalizer it is. That of version 0.1 belongs to the driver that the claim asks for. */
function ownerOf(claim: PersistentVolumeClaim, finalizer: string): string {
  return driverOfProvisioningFinalizer(finalizer) || askedDriverOf(claim);
}

function askedDriverOf(claim: KubeObject): string {
  const all = annotationsOf(claim);
  const asked = [annotations.migratedTo, annotations.storageProvisioner, annotations.betaStorageProvisioner];
  return asked.map((key) => all[key] ?? '').find((driver) => driver !== '') ?? '';
}

function recordOf(
  claim: PersistentVolumeClaim,
  { driver, names }: { readonly driver: string; readonly names: readonly string[] },
  { volumes }: View,
): ClaimFinalizer['record'] {
  const isRecord = (volume: PersistentVolume): boolean =>
    volume.spec?.claimRef?.uid === uidOf(claim) &&
    volume.metadata?.deletionTimestamp === undefined &&
    isOurVolume(volume, driver);
  const found = names.map((name) => volumes.get(name)).filter((volume) => volume !== undefined);
  return found.some(isRecord) ? 'recorded' : 'none';
}

function settlingNodeOf(claim: PersistentVolumeClaim, driver: string, { nodeNames }: View): SettlingNode | undefined {
  const name = annotationsOf(claim)[instanceAnnotation(driver)];
  if (name === undefined) return undefined;
  const selected = chosenNodeOf(claim) === name ? 'yes' : 'no';
  return { name, presence: nodeNames.has(name) ? 'there' : 'gone', selected };
}

function sourceOf(claim: PersistentVolumeClaim, view: View): readonly SourceFinalizer[] {
  if (claim.metadata?.finalizers?.includes(cloningProtection) !== true) return [];
  const csi = view.volumes.get(claim.spec?.volumeName ?? '')?.spec?.csi;
  const driver = csi?.driver ?? askedDriverOf(claim);
  // One whose driver is not known is shown whatever driver is asked for.
  if (driver !== '' && !isWanted(driver, view)) return [];
  return [protectedSource(claim, { source: 'claim', driver, finalizer: cloningProtection }, view)];
}

function snapshotOf(snapshot: Cluster['snapshots'][number], view: View): readonly SourceFinalizer[] {
  const driver = view.drivers.get(snapshot.status?.boundVolumeSnapshotContentName ?? '') ?? '';
  if (driver !== '' && !isWanted(driver, view)) return [];
  return [protectedSource(snapshot, { source: 'snapshot', driver, finalizer: snapshotSourceProtection }, view)];
}

function protectedSource(
  object: KubeObject,
  facts: Pick<SourceFinalizer, 'source' | 'driver' | 'finalizer'>,
  { needs }: View,
): SourceFinalizer {
  const ref: SourceRef = { kind: facts.source, namespace: object.metadata?.namespace ?? '', name: nameOf(object) };
  return { kind: 'sourceFinalizer', ...base(object, facts.driver), ...facts, neededBy: needs.get(sourceKey(ref)) };
}

function volumeOf(volume: PersistentVolume, view: View): readonly VolumeFinalizer[] {
  if (volume.metadata?.finalizers?.includes(volumeFinalizer) !== true) return [];
  const { driver: wanted } = view.options;
  if (wanted !== undefined && !isOurVolume(volume, wanted)) return [];
  const all = annotationsOf(volume);
  const driver = volume.spec?.csi?.driver ?? all[annotations.migratedTo] ?? all[annotations.provisionedBy] ?? '';
  const policy = volume.spec?.persistentVolumeReclaimPolicy;
  const terms = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms;
  return [
    {
      kind: 'volumeFinalizer',
      ...base(volume, driver),
      finalizer: volumeFinalizer,
      policy: policy === 'Retain' || policy === 'Recycle' ? policy : 'Delete',
      phase: volume.status?.phase,
      handle: handleOf(volume),
      reachable: view.isReachable(terms) ? 'yes' : 'no',
    },
  ];
}

function handleOf(volume: PersistentVolume): string {
  const translated = translateInTree(volume);
  const csi = translated?.kind === 'ok' ? translated.value.csi : volume.spec?.csi;
  return csi?.volumeHandle ?? nameOf(volume);
}

function capacityOf(object: CSIStorageCapacity, view: View): readonly Capacity[] {
  const { metadata } = object;
  const driver = metadata?.labels?.[labels.driverName] ?? '';
  // Without its labels it is not that of a provisioner.
  if (driver === '' || !isWanted(driver, view) || isBeingDeleted(object)) return [];
  const managedBy = metadata?.labels?.[labels.managedBy] ?? '';
  return [
    {
      kind: 'capacity',
      ...base(object, driver),
      owner: (metadata?.ownerReferences ?? []).length === 0 ? 'none' : 'some',
      instance: instanceOf(managedBy, view),
      installed: view.installed.has(driver) ? 'yes' : 'no',
    },
  ];
}

function instanceOf(managedBy: string, { instances }: View): Capacity['instance'] {
  if (managedBy === centralManagedBy) return 'central';
  if (!isOfNode(managedBy)) return 'foreign';
  return instances.has(managedBy) ? 'ofNode' : 'ofGoneNode';
}

function base(object: KubeObject, driver: string): Pick<Subject, 'object' | 'driver' | 'presence'> {
  return { object, driver, presence: object.metadata?.deletionTimestamp === undefined ? 'live' : 'deleted' };
}

function isWanted(driver: string, { options }: View): boolean {
  return options.driver === undefined || options.driver === driver;
}

function nameOf({ metadata }: KubeObject): string {
  return metadata?.name ?? '';
}
