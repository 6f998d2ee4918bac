// SPDX-License-Identifier: Apache-2.0
/**
 * Translates volumes and classes between an in-tree plugin and the CSI driver that replaced it. Pure: takes objects, returns what a
 * controller sends to the driver, or records of a volume that the driver made.
 *
 * Not here: the secrets of the node side, which no controller reads.
 */
import type { PersistentVolume, StorageClass } from '@csi-sidecars/runtime';
import type { VolumeNodeAffinity } from '../node-selector.ts';
import { ok, refuse, type Result } from '../result.ts';
import type { CsiSource, InTreeField, InTreeProvider, PersistentVolumeSpec } from './provider.ts';
import { providers } from './providers.ts';
import { translateClass } from './storage-class.ts';
import { toCsiAffinity, toInTreeTopology } from './topology.ts';

/** What a driver is given about a volume, wherever it is recorded. */
export interface CsiVolume {
  readonly csi: CsiSource;
  /** The access modes of the spec; for GCE disks, modes that the driver supports. */
  readonly accessModes: readonly string[];
  /** Value of the metric label `migrated`: the volume was translated. */
  readonly migrated: boolean;
}

const fields = Object.keys(providers) as readonly InTreeField[];
const rows = Object.values(providers);

/** The plugin that the driver replaced; undefined for a driver that replaced none. */
export function inTreePluginOf(driverName: string): string | undefined {
  return rows.find(({ driver }) => driver === driverName)?.plugin;
}

export function replacesPlugin(driverName: string): boolean {
  return inTreePluginOf(driverName) !== undefined;
}

/** The volume belongs to an in-tree plugin that some CSI driver has replaced. */
export function isInTree({ spec }: PersistentVolume): boolean {
  return fields.some((field) => spec?.[field] !== undefined);
}

/** The in-tree source in a spec, under its field; empty if it has none. */
export function inTreeSourceOf({ spec }: PersistentVolume): Partial<Pick<PersistentVolumeSpec, InTreeField>> {
  const field = fields.find((name) => spec?.[name] !== undefined);
  return field === undefined ? {} : { [field]: spec?.[field] };
}

/** The CSI volume of a PersistentVolume; the refusal is the text that users see in the status of a VolumeAttachment. */
export function toCsiVolume(volume: PersistentVolume): Result<CsiVolume> {
  const translated = translateInTree(volume);
  if (translated?.kind === 'ok') return translated;
  if (translated) return refuse(`failed to translate in tree pv to CSI: ${translated.message}`);
  const { csi, accessModes = [] } = volume.spec ?? {};
  if (csi === undefined) return refuse('pv spec contained non-csi source that was not migrated');
  return ok({ csi, accessModes, migrated: false });
}

/** The CSI volume of an in-tree volume; undefined for any other. The refusal says what is wrong with the source, and nothing else. */
export function translateInTree(volume: PersistentVolume): Result<CsiVolume> | undefined {
  for (const field of fields) {
    const translated = translate(field, volume);
    if (translated !== undefined) return translated;
  }
  return undefined;
}

/** The CSI volume of a spec inside the VolumeAttachment itself: its author has already translated it. */
export function toInlineCsiVolume({ csi, accessModes = [] }: PersistentVolumeSpec): Result<CsiVolume> {
  if (csi === undefined) return refuse('inline volume spec contains nil CSI source');
  return ok({ csi, accessModes, migrated: false });
}

/** The class as the driver has to see it. One that names the driver itself is returned as it is. */
export function toDriverClass(storageClass: StorageClass, driverName: string): Result<StorageClass> {
  const provider = rows.find(({ driver }) => driver === driverName);
  return provider !== undefined && storageClass.provisioner === provider.plugin
    ? translateClass(provider, storageClass)
    : ok(storageClass);
}

/**
 * The record of a volume that the driver made for a class of the plugin: the in-tree source in place of the CSI source, with labels of
 * Kubernetes in place of the driver's topology keys.
 */
export function toInTreeVolume(volume: PersistentVolume): Result<PersistentVolume> {
  const { csi, nodeAffinity: given, ...spec } = volume.spec ?? {};
  if (csi === undefined) return refuse('CSI persistent volume was nil');
  const record = toRecord(csi);
  if (record.kind === 'error') return record;
  const { field, source, annotations, provider } = record.value;
  const { topology: translation } = provider;
  const topology = translation === undefined ? undefined : toInTreeTopology(volume, translation);
  if (topology?.kind === 'error') return topology;
  const { nodeAffinity, labels } = topology?.value ?? { nodeAffinity: given, labels: {} };
  const hasLabels = Object.keys(labels).length > 0;
  return ok({
    ...volume,
    metadata: {
      ...volume.metadata,
      ...(annotations === undefined ? {} : { annotations: { ...volume.metadata?.annotations, ...annotations } }),
      ...(hasLabels ? { labels } : {}),
    },
    spec: { ...spec, [field]: source, ...(nodeAffinity === undefined ? {} : { nodeAffinity }) },
  });
}

/** The node affinity of a volume with the driver's topology keys. */
export function toCsiNodeAffinity(volume: PersistentVolume): VolumeNodeAffinity | undefined {
  const field = fields.find((name) => volume.spec?.[name] !== undefined);
  const translation = field === undefined ? undefined : providers[field].topology;
  return translation === undefined ? volume.spec?.nodeAffinity : toCsiAffinity(volume, translation);
}

/** Whether both PersistentVolumes record the same volume, by what identifies it. In doubt they do not. */
export function isSameVolume(left: PersistentVolume, right: PersistentVolume): boolean {
  const [leftCsi, rightCsi] = [left.spec?.csi, right.spec?.csi];
  if (leftCsi !== undefined && rightCsi !== undefined) {
    return leftCsi.driver === rightCsi.driver && leftCsi.volumeHandle === rightCsi.volumeHandle;
  }
  const field = fields.find((name) => left.spec?.[name] !== undefined);
  if (field === undefined) return false;
  const [leftMade, rightMade] = [translate(field, left), translate(field, right)];
  return leftMade?.kind === 'ok' && rightMade?.kind === 'ok'
    ? leftMade.value.csi.volumeHandle === rightMade.value.csi.volumeHandle
    : identityOf(field, left.spec) === identityOf(field, right.spec);
}

/**
 * Whether the PersistentVolume may be the record of this volume of the driver. In doubt it is: records of in-tree volumes name less than
 * the driver's handle.
 */
export function mayRecord(volume: PersistentVolume, csi: CsiSource): boolean {
  if (volume.spec?.csi !== undefined) return volume.spec.csi.volumeHandle === csi.volumeHandle;
  const translated = translateInTree(volume);
  if (translated?.kind === 'ok' && translated.value.csi.volumeHandle === csi.volumeHandle) return true;
  const record = toRecord(csi);
  if (record.kind === 'error') return false;
  const { field, identity } = record.value;
  return identityOf(field, volume.spec) === identity;
}

interface TypedRecord {
  readonly field: InTreeField;
  readonly source: object;
  readonly annotations: Readonly<Record<string, string>> | undefined;
  readonly identity: string;
  readonly provider: Pick<InTreeProvider<InTreeField>, 'topology'>;
}

function toRecord(csi: CsiSource): Result<TypedRecord> {
  const field = fields.find((name) => providers[name].driver === csi.driver);
  return field === undefined
    ? refuse(`could not find in-tree plugin translation logic for ${csi.driver}`)
    : recordIn(field, csi);
}

function recordIn<F extends InTreeField>(field: F, csi: CsiSource): Result<TypedRecord> {
  const provider = providers[field];
  const record = provider.toInTree(csi);
  if (record.kind === 'error') return record;
  const { source, annotations } = record.value;
  return ok({ field, source, annotations, identity: provider.identityOf(source), provider });
}

function identityOf<F extends InTreeField>(field: F, spec: PersistentVolumeSpec | undefined): string | undefined {
  const { [field]: source } = spec ?? {};
  return source === undefined ? undefined : providers[field].identityOf(source);
}

/**
 * The handle with which the driver reports a translated volume on this node. For comparisons only: in
 * requests, drivers of translated volumes expect the handle with its gaps.
 */
export function repairVolumeHandle({ driver, volumeHandle }: CsiSource, nodeId: string): Result<string> {
  const provider = rows.find((row) => row.driver === driver);
  if (provider === undefined) return refuse(`could not find In-Tree driver name for CSI plugin ${driver}`);
  return provider.repairHandle?.(volumeHandle, nodeId) ?? ok(volumeHandle);
}

/** Undefined when the volume has no such source. */
function translate<F extends InTreeField>(field: F, volume: PersistentVolume): Result<CsiVolume> | undefined {
  const { [field]: source, accessModes } = volume.spec ?? {};
  if (source === undefined) return undefined;
  const { driver, toCsi, toAccessModes } = providers[field];
  const csi = toCsi(source, volume);
  if (csi.kind === 'error') return csi;
  return ok({
    csi: { driver, ...csi.value },
    accessModes: accessModes && toAccessModes ? toAccessModes(accessModes) : (accessModes ?? []),
    migrated: true,
  });
}
